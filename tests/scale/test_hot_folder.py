import json
import os
from pathlib import Path
from threading import Event

import pytest

from formnet.errors import DocumentError, SettingsError
from formnet.extraction.fields import FieldOutput
from formnet.extraction.output import DocumentOutput
from formnet.extraction.schema import FieldSchema, Schema
from formnet.scale import watch as watch_module
from formnet.scale.hot_folder import MAX_ATTEMPTS, HotFolder
from formnet.scale.watch import Tables, watch

SCHEMA = Schema(
    fields=(
        FieldSchema(label="total", path="total", type="amount"),
        FieldSchema(label="item", path="line_items[].description", anchor=True),
    )
)


def make_folder(tmp_path: Path, settle: float = 0.0) -> HotFolder:
    (tmp_path / "in").mkdir(exist_ok=True)
    return HotFolder(tmp_path / "in", tmp_path / "out", settle)


def make_output(name: str) -> DocumentOutput:
    def field(value: float | str) -> FieldOutput:
        return FieldOutput(value=value, text=str(value), page=1, boxes=[(0, 0, 1, 1)], words=[0])

    fields = {"line_items": [{"description": field("Tea")}, {"description": field("Cup")}], "total": field(9.5)}
    return DocumentOutput(document=name, fields=fields, checks=[], pages=[], entities=[])


def extract(path: Path) -> list[DocumentOutput]:
    if path.suffix == ".bad":
        raise DocumentError(f"{path}: cannot be read. Convert it to PDF.")
    return [make_output(path.name)]


def run(
    folder: HotFolder, table: watch_module.TableFormat = "csv", extract: watch_module.ExtractFunction = extract
) -> list[tuple[str, str]]:
    reported: list[tuple[str, str]] = []
    with folder.lock():
        tables = Tables(folder, SCHEMA, table)
        watch(folder, tables, extract, lambda path, message: reported.append((path.name, message)), Event(), once=True)
    return reported


def rows(folder: HotFolder, name: str = "documents.csv") -> list[str]:
    return [line.split(",")[0] for line in (folder.outbox / name).read_text().splitlines()[1:]]


def test_find_ready_waits_until_file_stops_changing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_folder(tmp_path, settle=2)
    now = 0.0
    monkeypatch.setattr("formnet.scale.hot_folder.monotonic", lambda: now)
    file = folder.inbox / "a.pdf"
    file.write_text("first")
    assert folder.find_ready() == []
    now = 1.9
    file.write_text("first and second part")  # a slow copy
    assert folder.find_ready() == []
    now = 3.8
    assert folder.find_ready() == []
    now = 3.9
    assert folder.find_ready() == [file]


def test_find_ready_skips_hidden_partial_files_folders_and_links(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    for name in (".hidden", "a.pdf.part", "b.crdownload", "c.pdf"):
        (folder.inbox / name).write_text("x")
    (folder.inbox / "d.pdf").symlink_to(tmp_path / "in" / "c.pdf")
    assert [path.name for path in folder.find_ready()] == ["c.pdf"]


def test_claim_same_name_again_gets_a_number(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    for _ in range(3):
        (folder.inbox / "a.pdf").write_text("x")
        run(folder)
    assert sorted(path.name for path in folder.done.iterdir()) == ["a-2.pdf", "a-3.pdf", "a.pdf"]
    assert sorted(path.name for path in folder.outbox.glob("*.json")) == ["a-2.pdf.json", "a-3.pdf.json", "a.pdf.json"]
    assert sorted(rows(folder)) == ["a-2.pdf", "a-3.pdf", "a.pdf"]


def test_watch_moves_files_and_writes_tables(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    for name in ("a.pdf", "b.bad"):
        (folder.inbox / name).write_text("x")
    assert dict(run(folder)) == {"a.pdf": "1 document", "b.bad": "b.bad: cannot be read. Convert it to PDF."}
    assert (folder.failed / "b.bad.txt").read_text() == "b.bad: cannot be read. Convert it to PDF.\n"
    assert sorted(path.name for path in folder.inbox.iterdir()) == [".working", "done", "failed"]
    (data,) = json.loads((folder.outbox / "a.pdf.json").read_text())
    assert (data["document"], data["fields"]["total"]["value"]) == ("a.pdf", 9.5)
    assert (rows(folder), rows(folder, "items.csv")) == (["a.pdf"], ["a.pdf", "a.pdf"])


def test_watch_once_waits_for_file_that_comes_meanwhile(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    (folder.inbox / "a.pdf").write_text("x")

    def slow(path: Path) -> list[DocumentOutput]:
        if path.name == "a.pdf":
            (folder.inbox / "b.pdf").write_text("x")
        return extract(path)

    assert [name for name, _ in run(folder, extract=slow)] == ["a.pdf", "b.pdf"]


@pytest.mark.parametrize("step", ["before the result", "after the result", "in the middle of a row"])
def test_watch_killed_process_is_continued_without_repetition(tmp_path: Path, step: str) -> None:
    folder = make_folder(tmp_path)
    (folder.inbox / "a.pdf").write_text("x")
    run(folder)
    (folder.inbox / "b.pdf").write_text("x")
    claimed = folder.claim(folder.inbox / "b.pdf")
    assert claimed is not None
    folder.count_attempt(claimed)
    if step != "before the result":
        folder.write_result(claimed, [make_output("b.pdf")])
    if step == "in the middle of a row":
        with (folder.outbox / "documents.csv").open("a") as file:
            file.write("b.p")
    restarted = make_folder(tmp_path)
    expected = "1 document" if step == "before the result" else "was finished before"
    assert run(restarted) == [("b.pdf", expected)]
    assert (rows(folder), rows(folder, "items.csv")) == (["a.pdf", "b.pdf"], ["a.pdf", "a.pdf", "b.pdf", "b.pdf"])
    assert sorted(path.name for path in folder.done.iterdir()) == ["a.pdf", "b.pdf"]
    assert [path.name for path in folder.working.iterdir()] == [".lock"]


def test_watch_file_that_ends_the_process_every_time_fails(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    (folder.inbox / "a.pdf").write_text("x")
    claimed = folder.claim(folder.inbox / "a.pdf")
    assert claimed is not None
    for _ in range(MAX_ATTEMPTS):
        folder.count_attempt(claimed)
    ((name, message),) = run(folder)
    assert (name, "ended 3 times without a result" in message) == ("a.pdf", True)
    assert (folder.failed / "a.pdf").exists()


def test_watch_xlsx_has_all_results(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    folder = make_folder(tmp_path)
    for name in ("a.pdf", "b.pdf"):
        (folder.inbox / name).write_text("x")
        os.utime(folder.inbox / name, ns=(1, 1))
        run(folder, "xlsx")
    sheet = openpyxl.load_workbook(folder.outbox / "documents.xlsx")["documents"]
    assert [row[0].value for row in sheet.iter_rows(min_row=2)] == ["a.pdf", "b.pdf"]


def test_lock_second_process_raises(tmp_path: Path) -> None:
    folder, other = make_folder(tmp_path), make_folder(tmp_path)
    with folder.lock(), pytest.raises(SettingsError, match="another process watches it"), other.lock():
        pass


def test_hot_folder_invalid_folders_raise(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"is not a folder\. Create it first"):
        HotFolder(tmp_path / "none", tmp_path / "out")
    with pytest.raises(SettingsError, match="so results would be processed"):
        HotFolder(tmp_path, tmp_path / "out")
    folder = make_folder(tmp_path)
    (folder.outbox / "notes.json").write_text("{}")
    (folder.outbox / "other.json").write_text('[{"a": 1}]')
    with pytest.raises(SettingsError, match=r"other\.json: is not a result of this command"):
        run(folder)


@pytest.mark.parametrize("name", ["发票" * 41 + ".bad", "x" * 251 + ".bad", os.fsdecode(b"rechnung-\xfc.bad")])
def test_watch_long_or_invalid_names_fail_like_others(tmp_path: Path, name: str) -> None:
    folder = make_folder(tmp_path)
    for each in (name, name.replace(".bad", ".pdf")):
        (folder.inbox / each).write_text("x")
    reported = run(folder)
    assert len(reported) == 2
    assert len(list(folder.failed.iterdir())) == 2
    assert len(list(folder.done.iterdir())) == 1


def test_claim_file_that_changed_or_became_a_link_is_put_back(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    secret = tmp_path / "secret.pdf"
    secret.write_text("secret")
    for name in ("a.pdf", "b.pdf"):
        (folder.inbox / name).write_text("x")
    first, second = sorted(folder.find_ready())
    first.write_text("x and more")
    second.unlink()
    second.symlink_to(secret)
    assert [folder.claim(first), folder.claim(second)] == [None, None]
    assert first.read_text() == "x and more"
    assert second.is_symlink()
    assert folder.find_unfinished() == []


def test_hot_folder_state_folder_that_is_a_link_raises(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/failed").symlink_to(tmp_path)
    with pytest.raises(SettingsError, match="failed: is a symbolic link"):
        make_folder(tmp_path)


def test_claim_file_that_cannot_be_moved_is_reported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_folder(tmp_path)
    (folder.inbox / "a.pdf").write_text("x")

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "rename", refuse)
    assert run(folder) == [("a.pdf", "a.pdf: cannot be moved: Operation not permitted. Check the permissions.")]


def test_fail_reason_does_not_replace_a_document(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    (folder.failed / "scan.bad.txt").write_text("a document")
    (folder.inbox / "scan.bad").write_text("x")
    run(folder)
    assert (folder.failed / "scan.bad.txt").read_text() == "a document"
    assert (folder.failed / "scan-2.bad.txt").exists()


def test_watch_stopped_while_reading_leaves_file_for_next_start(tmp_path: Path) -> None:
    folder, stop = make_folder(tmp_path), Event()
    (folder.inbox / "a.pdf").write_text("x")

    def interrupted(path: Path) -> list[DocumentOutput]:
        stop.set()
        raise DocumentError(f"{path}: crashed the process that read it.")

    with folder.lock():
        watch(folder, Tables(folder, SCHEMA, "csv"), interrupted, lambda *_: None, stop)
    assert [path.name for path in folder.find_unfinished()] == ["a.pdf"]
    assert folder.count_attempt(folder.working / "a.pdf") == 1
    assert run(make_folder(tmp_path)) == [("a.pdf", "1 document")]


def test_read_results_skips_other_files_while_running(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    (folder.inbox / "a.pdf").write_text("x")
    run(folder)
    (folder.outbox / "other.json").write_text('[{"a": 1}]')
    (folder.outbox / "removed.json").symlink_to(tmp_path / "removed")
    assert [output.document for output in folder.read_results(skip_others=True)] == ["a.pdf"]
