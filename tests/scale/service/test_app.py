import socket
from pathlib import Path

import pytest

from formnet.errors import SettingsError
from formnet.scale.service.app import build, check_port
from formnet.scale.service.settings import ServiceSettings


def test_check_port_ipv6_in_use_raises() -> None:
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("IPv6 is not available")
    with listener:
        check_port("::1", 0)
        with pytest.raises(SettingsError, match="cannot listen on ::1"):
            check_port("::1", listener.getsockname()[1])


def test_build_list_for_no_field_of_any_model_raises(tmp_path: Path) -> None:
    vendors = tmp_path / "vendors.csv"
    vendors.write_text("merchant.name,id\nA,1\n")
    settings = ServiceSettings(models=["receipts", "invoices"], references=(vendors,), allow_anonymous=True)
    assert build(settings)
    vendors.write_text("vendor,id\nA,1\n")
    with pytest.raises(SettingsError, match=r"vendors\.csv: the first column is 'vendor'.* merchant\.name"):
        build(settings)
