"""Documents made for tests: a page of text as a picture, as a PDF with its own words, or as a scan in a PDF."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

LINES = ("ACME STORES", "Invoice 4711", "Date 03/04/2019", "Total 12.50")


def picture(lines: Sequence[str] = LINES, size: tuple[int, int] = (600, 800)) -> Image.Image:
    """Draw lines in large black type."""
    image = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        pen.text((40, 40 + 90 * number), line, "black", ImageFont.load_default(44))
    return image


def text_pdf(pages: Sequence[Sequence[str]] = (LINES,), *, rotate: int = 0) -> bytes:
    """Write a PDF whose pages have words of their own, in Helvetica."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        shown = "".join(f"BT /F1 20 Tf 72 {720 - 40 * i} Td ({line}) Tj ET\n" for i, line in enumerate(lines)).encode()
        objects.append(b"<< /Length %d >>\nstream\n" % len(shown) + shown + b"endstream")
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Rotate %d /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (rotate, len(objects))
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    return _pdf(objects)


def form_pdf(value: str = "INV-4711") -> bytes:
    """Write a PDF with a field that somebody filled in, and whose looks are left to whoever shows it."""
    shown = b"BT /F1 12 Tf 72 700 Td (Invoice number) Tj ET"
    font = b"<< /Font << /F1 4 0 R >> >>"
    return _pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [6 0 R] /NeedAppearances true /DR %s >> >>" % font,
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Annots [6 0 R] /Resources %s >>"
            % font,
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            b"<< /Length %d >>\nstream\n" % len(shown) + shown + b"\nendstream",
            b"<< /Type /Annot /Subtype /Widget /FT /Tx /T (number) /V (%s) /DA (/F1 12 Tf 0 g) "
            b"/Rect [300 695 450 715] /F 4 >>" % value.encode(),
        ]
    )


def stamped_scan(strips: int, stamp: str, *, in_a_form: bool = False) -> bytes:
    """Write a PDF that is a gray picture in so many strips, or one in a form, with a line of text across its top."""
    high = 792 / strips
    drawn = "".join(f"q 612 0 0 {high} 0 {high * i} cm /X Do Q\n" for i in range(strips))
    if in_a_form:  # where it is one unit large, and the form as large as the page
        drawn = "q 612 0 0 792 0 0 cm /Form Do Q\n"
    shown = f"{drawn}BT /F1 9 Tf 20 775 Td ({stamp}) Tj ET".encode()
    return _pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R "
            b"/Resources << /Font << /F1 4 0 R >> /XObject << /X 6 0 R /Form 7 0 R >> >> >>",
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            b"<< /Length %d >>\nstream\n" % len(shown) + shown + b"\nendstream",
            b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 "
            b"/Length 1 >>\nstream\n\xc0\nendstream",
            b"<< /Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources << /XObject << /X 6 0 R >> >> "
            b"/Length 5 >>\nstream\n/X Do\nendstream",
        ]
    )


def drawn_letters(codes: bytes) -> bytes:
    """Write a PDF in a font of black squares that does not say which letters they are."""
    shown = b"BT /F1 20 Tf 72 700 Td <" + codes.hex().encode() + b"> Tj ET"
    square = b"1000 0 0 0 750 750 d1 0 0 750 750 re f"
    names = [b"/g%d" % code for code in range(32)]
    return _pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R "
            b"/Resources << /Font << /F1 6 0 R >> >> >>",
            b"<< /Length %d >>\nstream\n" % len(square) + square + b"\nendstream",
            b"<< /Length %d >>\nstream\n" % len(shown) + shown + b"\nendstream",
            b"<< /Type /Font /Subtype /Type3 /FontBBox [0 0 750 750] /FontMatrix [.001 0 0 .001 0 0] /FirstChar 0 "
            b"/LastChar 31 /Widths [" + b"1000 " * 32 + b"] /Encoding << /Differences [0 " + b" ".join(names) + b"] >> "
            b"/CharProcs << " + b" ".join(name + b" 4 0 R" for name in names) + b" >> >>",
        ]
    )


def _pdf(objects: Sequence[bytes]) -> bytes:
    """Put numbered objects into a file, with a table of where they are; the first is the catalog."""
    file = BytesIO()
    file.write(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(file.tell())
        file.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = file.tell()
    file.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    for place in places:
        file.write(b"%010d 00000 n \n" % place)
    file.write(b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))
    return file.getvalue()


def scanned_pdf(path: Path) -> Path:
    """Write a PDF that is a picture."""
    picture().save(path, "PDF", resolution=72)
    return path
