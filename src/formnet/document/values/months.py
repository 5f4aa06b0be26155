"""Month names in the most common languages of receipts and invoices."""

import re

_BY_MONTH = (
    "jan january januar januari janvier enero gennaio janeiro",
    "feb february februar februari février febrero febbraio fevereiro",
    "mar march märz maerz maart mars marzo março maret mac",
    "apr april avril abril aprile",
    "may mai mei mayo maggio maio",
    "jun june juni juin junio giugno junho",
    "jul july juli juillet julio luglio julho julai",
    "aug august augustus août agosto agustus ogos",
    "sep sept september septembre septiembre settembre setembro",
    "oct okt october oktober octobre octubre ottobre outubro",
    "nov november novembre noviembre novembro nopember",
    "dec dez dis december dezember décembre diciembre dicembre dezembro desember disember",
)
#: Lowercase month name → month number.
MONTHS = {name: number for number, names in enumerate(_BY_MONTH, 1) for name in names.split()}
#: Pattern of a month name that is not part of a longer word.
MONTH = rf"(?P<month>{'|'.join(map(re.escape, sorted(MONTHS, key=len, reverse=True)))})(?![^\W\d_])"
