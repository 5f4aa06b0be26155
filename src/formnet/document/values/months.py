"""Months by name, in the languages that receipts and invoices are most often in."""

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
#: Names in small letters → their month.
MONTHS = {name: number for number, names in enumerate(_BY_MONTH, 1) for name in names.split()}
#: One of them, and no part of a longer word.
MONTH = rf"(?P<month>{'|'.join(map(re.escape, sorted(MONTHS, key=len, reverse=True)))})(?![^\W\d_])"
