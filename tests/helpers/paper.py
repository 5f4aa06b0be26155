"""Pages of text as images, PDFs with a text layer, and scanned PDFs."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

LINES = ("ACME STORES", "Invoice 4711", "Date 03/04/2019", "Total 12.50")


def picture(lines: Sequence[str] = LINES, size: tuple[int, int] = (600, 800)) -> Image.Image:
    """Draw lines of text in large black type."""
    image = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        pen.text((40, 40 + 90 * number), line, "black", ImageFont.load_default(44))
    return image


def text_pdf(pages: Sequence[Sequence[str]] = (LINES,), *, rotate: int = 0) -> bytes:
    """Return a PDF with a text layer in Helvetica."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        content = "".join(
            f"BT /F1 20 Tf 72 {720 - 40 * i} Td ({line}) Tj ET\n" for i, line in enumerate(lines)
        ).encode()
        objects.append(b"<< /Length %d >>\nstream\n" % len(content) + content + b"endstream")
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Rotate %d /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (rotate, len(objects))
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    return _pdf(objects)


def form_pdf(value: str = "INV-4711") -> bytes:
    """Return a PDF with a filled-in form field that has no appearance stream."""
    content = b"BT /F1 12 Tf 72 700 Td (Invoice number) Tj ET"
    font = b"<< /Font << /F1 4 0 R >> >>"
    return _pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [6 0 R] /NeedAppearances true /DR %s >> >>" % font,
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Annots [6 0 R] /Resources %s >>"
            % font,
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            b"<< /Length %d >>\nstream\n" % len(content) + content + b"\nendstream",
            b"<< /Type /Annot /Subtype /Widget /FT /Tx /T (number) /V (%s) /DA (/F1 12 Tf 0 g) "
            b"/Rect [300 695 450 715] /F 4 >>" % value.encode(),
        ]
    )


def stamped_scan(strips: int, stamp: str, *, in_a_form: bool = False) -> bytes:
    """Return a PDF of a gray image, in strips or inside a form XObject, with a line of text at the top."""
    height = 792 / strips
    images = "".join(f"q 612 0 0 {height} 0 {height * i} cm /X Do Q\n" for i in range(strips))
    if in_a_form:  # the form is scaled to the page and the image fills the form
        images = "q 612 0 0 792 0 0 cm /Form Do Q\n"
    content = f"{images}BT /F1 9 Tf 20 775 Td ({stamp}) Tj ET".encode()
    return _pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R "
            b"/Resources << /Font << /F1 4 0 R >> /XObject << /X 6 0 R /Form 7 0 R >> >> >>",
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            b"<< /Length %d >>\nstream\n" % len(content) + content + b"\nendstream",
            b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 "
            b"/Length 1 >>\nstream\n\xc0\nendstream",
            b"<< /Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources << /XObject << /X 6 0 R >> >> "
            b"/Length 5 >>\nstream\n/X Do\nendstream",
        ]
    )


def drawn_letters(codes: bytes) -> bytes:
    """Return a PDF in a font of black squares without a mapping to Unicode."""
    content = b"BT /F1 20 Tf 72 700 Td <" + codes.hex().encode() + b"> Tj ET"
    square = b"1000 0 0 0 750 750 d1 0 0 750 750 re f"
    names = [b"/g%d" % code for code in range(32)]
    return _pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R "
            b"/Resources << /Font << /F1 6 0 R >> >> >>",
            b"<< /Length %d >>\nstream\n" % len(square) + square + b"\nendstream",
            b"<< /Length %d >>\nstream\n" % len(content) + content + b"\nendstream",
            b"<< /Type /Font /Subtype /Type3 /FontBBox [0 0 750 750] /FontMatrix [.001 0 0 .001 0 0] /FirstChar 0 "
            b"/LastChar 31 /Widths [" + b"1000 " * 32 + b"] /Encoding << /Differences [0 " + b" ".join(names) + b"] >> "
            b"/CharProcs << " + b" ".join(name + b" 4 0 R" for name in names) + b" >> >>",
        ]
    )


def _pdf(objects: Sequence[bytes]) -> bytes:
    """Assemble numbered objects and a cross-reference table into a PDF; the first object is the catalog."""
    file = BytesIO()
    file.write(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(file.tell())
        file.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = file.tell()
    file.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    for offset in offsets:
        file.write(b"%010d 00000 n \n" % offset)
    file.write(b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))
    return file.getvalue()


def scanned_pdf(path: Path) -> Path:
    """Write a PDF that contains only a page image."""
    picture().save(path, "PDF", resolution=72)
    return path
