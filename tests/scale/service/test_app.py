import socket

import pytest

from formnet.errors import SettingsError
from formnet.scale.service.app import check_port


def test_check_port_ipv6_in_use_raises() -> None:
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("IPv6 is not available")
    with listener:
        check_port("::1", 0)
        with pytest.raises(SettingsError, match="cannot listen on ::1"):
            check_port("::1", listener.getsockname()[1])
