"""Documents on the terminal: header fields, line items as rows, and checks."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from formnet.document import Document
    from formnet.extraction.output import DocumentOutput
    from formnet.extraction.schema import Schema
    from formnet.extraction.tables import ItemTable


def print_document(document: "Document", schema: "Schema") -> None:
    """Print the fields of a document."""
    from rich.console import Console

    from formnet.extraction.output import to_output
    from formnet.extraction.tables import item_tables

    console = Console()
    output = to_output(document, schema)
    if not document.entities:
        sources = sorted({page.text_source for page in document.pages if page.text_source})
        source = f" (text from {', '.join(sources)})" if sources else ""
        console.print(printable(f"{document.id}: no fields found in {document.num_words} words{source}."))
        return
    console.print(_header_table(output, schema))
    for items in item_tables(output.fields, schema):
        console.print(_item_table(items))
    if checks := [check for check in output.checks if check.status != "not_applicable"]:
        console.print(printable(f"checks: {'; '.join(check.describe() for check in checks)}"))


def _header_table(output: "DocumentOutput", schema: "Schema") -> "Table":
    from rich.table import Table

    from formnet.extraction.tables import header_fields

    kind = "" if output.type is None else f" ({output.type}, {output.type_score:.0%})"
    table = Table(title=printable(output.document + kind), title_justify="left", title_style="bold")
    for name in ("field", "value", "text"):
        table.add_column(name, overflow="fold")
    for name in ("page", "confidence", "OCR"):
        table.add_column(name, justify="right")
    for path, constants, field in header_fields(output.fields, schema):
        confidence, ocr = ("" if score is None else f"{score:.2f}" for score in (field.score, field.ocr_score))
        value = printable(field.format(output.currency))
        cells = (printable(" ".join([path, *constants])), value, printable(field.text), str(field.page))
        table.add_row(
            *cells, f"{confidence} ?" if field.review else confidence, ocr, style="yellow" if field.review else None
        )
        if field.reference:
            table.add_row(
                "  matches", printable(field.reference.describe()), "", "", f"{field.reference.score:.2f}", ""
            )
    return table


def _item_table(items: "ItemTable") -> "Table":
    from rich.table import Table

    from formnet.extraction.fields import FieldOutput

    table = Table(title=items.name.replace("_", " "), title_justify="left", title_style="bold")
    for number, column in enumerate(items.columns):
        table.add_column(column.replace("_", " "), justify="left" if number == 0 else "right", overflow="fold")
    for row, is_part in items.rows:
        cells = [row[column].format() if column in row else "" for column in items.columns]
        needs_review = any(isinstance(field, FieldOutput) and field.review for field in row.values())
        cells[0] = f"{'+ ' if is_part else ''}{cells[0]}{' ?' if needs_review else ''}"
        table.add_row(*map(printable, cells), style="yellow" if needs_review else None)
    return table


def printable(text: str) -> "Text":
    """Replace control characters, which could drive the terminal."""
    from rich.text import Text

    return Text("".join(c if c.isprintable() else "\ufffd" for c in text))
