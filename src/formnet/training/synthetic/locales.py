# ruff: noqa: E501 (tables)
"""What receipts print in several countries: captions, formats, taxes, addresses and goods. All names are made up."""

from dataclasses import dataclass, field

Texts = tuple[str, ...]


@dataclass(frozen=True)
class Locale:
    """Conventions of a country."""

    language: str
    currency: Texts  # symbols before an amount
    currency_after: Texts  # symbols or codes after it
    decimal: str
    thousands: str
    dates: Texts  # strftime formats
    times: Texts
    phones: Texts  # patterns: 9 is any digit
    streets: Texts  # patterns: {n} is a house number, {name} a street name
    street_names: Texts
    cities: Texts  # lines with postal codes: {d} is any digit
    taxes: tuple[tuple[str, float], ...]  # captions, with {rate} for the percentage, and rates
    tax_included: bool
    tax_ids: Texts
    company_forms: Texts
    tip_probability: float = 0.0
    weight_unit: str = "kg"


_EN_STREETS = (
    "Maple", "Oak", "Main", "Church", "Station", "Mill", "Park", "Harbor", "Hill", "Lake", "River", "Union", "Market", "Broad", "Center", "College", "Elm", "Franklin", "Highland",
    "Jackson", "King", "Lincoln", "Madison", "Ocean", "Pearl", "Prospect", "Queen", "Sunset", "Valley", "Victoria", "Walnut", "Washington", "Water", "Willow", "5th", "12th", "42nd",
)  # fmt: skip
LOCALES: dict[str, Locale] = {
    "US": Locale(
        "en", ("$", ""), (), ".", ",",
        ("%m/%d/%Y", "%m/%d/%y", "%m-%d-%Y", "%b %d, %Y", "%m/%d/%Y", "%-m/%-d/%Y", "%-m/%-d/%y", "%b%d'%y", "%d-%b-%Y", "%B %d, %Y"),
        ("%I:%M %p", "%I:%M%p", "%H:%M", "%H:%M:%S", "%I:%M:%S %p", "%-I:%M %p", "%-I:%M%p", "%-H:%M"),
        ("(999) 999-9999", "999-999-9999", "999.999.9999", "(999)999-9999"),
        ("{n} {name} St", "{n} {name} Ave", "{n} {name} Blvd", "{n} W {name} Rd", "{n} {name} Street, Suite {n}", "{n} N {name} Dr", "{n} {name} Street",
         "{n} {name} St.", "{n} E {n}th Ave", "{n} Hwy {n}", "{n} {name} Pkwy #{n}", "{n} S. {name} Avenue", "{n}-{n} {name} Lane"),
        _EN_STREETS,
        ("{town}, {state} {d}{d}{d}{d}{d}", "{town}, {state} {d}{d}{d}{d}{d}", "{town} {state} {d}{d}{d}{d}{d}", "{town}, {state}", "{town}, {state}. {d}{d}{d}{d}{d}",
         "{town} {state} {d}{d}{d}{d}{d}-{d}{d}{d}{d}", "{town}, {state}, {d}{d}{d}{d}{d}", "{town}, {state} {d}{d}{d}{d}{d} USA"),
        (("Tax", 0.0825), ("Sales Tax", 0.06), ("TAX {rate}%", 0.0875), ("Tax 1", 0.07), ("State Tax", 0.0625), ("Local Tax", 0.02)),
        False, ("Merchant ID: 99999999", "Store #999"), ("Inc", "LLC", "Co.", "& Sons", ""), 0.5, "lb",
    ),
    "GB": Locale(
        "en", ("£", ""), (), ".", ",",
        ("%d/%m/%Y", "%d/%m/%y", "%d %b %Y", "%d-%b-%y", "%d.%m.%Y"),
        ("%H:%M", "%H:%M:%S", "%I:%M %p"),
        ("01999 999999", "020 9999 9999", "0161 999 9999", "+44 20 9999 9999"),
        ("{n} {name} Street", "{n} {name} Road", "{n} High Street", "Unit {n}, {name} Lane", "{n}-{n} {name} Way"),
        _EN_STREETS,
        ("{town} A{d} {d}AA", "{town}, MK{d} {d}AA", "London SW{d} {d}AA", "{town} LS{d} {d}AA", "{town}, B{d}{d} {d}AA", "{town}"),
        (("VAT @ {rate}%", 0.2), ("VAT", 0.2), ("VAT {rate}%", 0.05)),
        True, ("VAT No: 999 9999 99", "VAT REG 999999999"), ("Ltd", "Limited", "PLC", ""), 0.05,
    ),
    "CA": Locale(
        "en", ("$", "", "C$"), (), ".", ",",
        ("%Y-%m-%d", "%m/%d/%Y", "%d/%m/%Y", "%b %d, %Y", "%Y/%m/%d"),
        ("%H:%M:%S", "%I:%M %p", "%H:%M"),
        ("(999) 999-9999", "999-999-9999"),
        ("{n} {name} St W", "{n} {name} Ave", "{n} {name} Road", "{n} Rue {name}"),
        _EN_STREETS,
        ("{town} ON L{d}A {d}A{d}", "{town}, BC V{d}A {d}A{d}", "{town} QC H{d}A {d}A{d}", "{town}, AB T{d}A {d}A{d}", "{town}, Ontario"),
        (("HST {rate}%", 0.13), ("GST", 0.05), ("PST", 0.07), ("GST/TPS", 0.05), ("QST/TVQ", 0.09975)),
        False, ("GST# 999999999 RT0001", "HST 99999 9999 RT0001"), ("Inc.", "Ltd.", "Corp", ""), 0.45,
    ),
    "AU": Locale(
        "en", ("$", ""), (), ".", ",",
        ("%d/%m/%Y", "%d/%m/%y", "%d-%m-%Y", "%d %b %Y"),
        ("%H:%M", "%I:%M %p", "%H:%M:%S", "%I:%M%p"),
        ("(09) 9999 9999", "09 9999 9999", "1300 999 999"),
        ("{n} {name} Street", "Shop {n}, {name} Plaza", "{n} {name} Road", "{n} {name} Parade"),
        _EN_STREETS,
        ("{town} NSW 2{d}{d}{d}", "{town} VIC 3{d}{d}{d}", "{town} WA 6{d}{d}{d}", "{town}, QLD 4{d}{d}{d}"),
        (("GST Included in Total", 0.1), ("GST", 0.1), ("Incl GST", 0.1), ("Total includes GST", 0.1)),
        True, ("ABN 99 999 999 999", "A.B.N. 99 999 999 999"), ("Pty Ltd", "Pty. Ltd.", ""), 0.02,
    ),
    "DE": Locale(
        "de", ("", "€ "), (" EUR", " €", ""), ",", ".",
        ("%d.%m.%Y", "%d.%m.%y", "%d.%m.%Y"),
        ("%H:%M", "%H:%M:%S", "%H:%M Uhr"),
        ("0999/999999", "0999 9999999", "+49 999 999999", "0999-99999"),
        ("{name}straße {n}", "{name}str. {n}", "Am {name}platz {n}", "{name}weg {n}"),
        ("Linden", "Bahnhof", "Garten", "Schul", "Mühlen", "Berg", "Wald", "Kirch"),
        ("{d}{d}{d}{d}{d} {town}", "{d}{d}{d}{d}{d} {town}", "D-{d}{d}{d}{d}{d} {town}"),
        (("MwSt {rate}%", 0.19), ("{rate}% MwSt", 0.07), ("inkl. {rate}% MwSt", 0.19), ("MwSt. A {rate}%", 0.19), ("USt {rate}%", 0.19)),
        True, ("USt-IdNr. DE999999999", "St.-Nr. 99/999/99999", "UID Nr. DE999999999"), ("GmbH", "KG", "e.K.", "OHG", ""), 0.04,
    ),
    "FR": Locale(
        "fr", ("",), (" €", "€", " EUR", ""), ",", " ",
        ("%d/%m/%Y", "%d/%m/%y", "%d-%m-%Y"),
        ("%H:%M", "%Hh%M", "%H:%M:%S"),
        ("01 99 99 99 99", "04.99.99.99.99", "0999999999"),
        ("{n} rue de {name}", "{n}, avenue {name}", "{n} place {name}", "{n} bd {name}"),
        ("la Gare", "Victor Hugo", "la République", "Voltaire", "l'Église", "la Paix"),
        ("{d}{d}{d}{d}{d} {town}", "{d}{d}{d}{d}{d} {town}", "75{d}{d}{d} PARIS"),
        (("TVA {rate}%", 0.1), ("TVA {rate} %", 0.2), ("Dont TVA", 0.055), ("T.V.A. {rate}%", 0.2)),
        True, ("SIRET 999 999 999 99999", "TVA FR99999999999", "RCS 999 999 999"), ("SARL", "SAS", ""), 0.03,
    ),
    "ES": Locale(
        "es", ("",), (" €", "€", " EUR", ""), ",", ".",
        ("%d/%m/%Y", "%d-%m-%Y", "%d/%m/%y"),
        ("%H:%M", "%H:%M:%S", "%H:%Mh"),
        ("999 99 99 99", "999 999 999", "+34 999 999 999"),
        ("C/ {name}, {n}", "Calle {name} {n}", "Avda. {name} {n}", "Plaza {name}, {n}"),
        ("Mayor", "del Sol", "Cervantes", "de la Luna", "Colón", "Real"),
        ("{d}{d}{d}{d}{d} {town}", "{d}{d}{d}{d}{d} {town}", "28{d}{d}{d} MADRID"),
        (("IVA {rate}%", 0.1), ("I.V.A. {rate}%", 0.21), ("IVA", 0.1), ("Cuota IVA {rate}%", 0.21)),
        True, ("NIF: B99999999", "CIF B-99999999", "N.I.F. A99999999"), ("S.L.", "S.A.", ""), 0.03,
    ),
}  # fmt: skip

#: Numbers of companies, which look like phone numbers; ? is a letter.
REGISTRATIONS: Texts = (
    "(999999-?)", "(9999999-?)", "(999999 ?)", "(AB0999999-?)", "Reg. No. 999999-?", "Co. No. 9999999-?", "REG NO: 999999999",
    "Company No. 09999999", "GST ID: 000999999999", "GST Reg No. 009999999999", "Registration: 99-9999999", "(999999999999)",
)  # fmt: skip
#: What OCR engines read in logos and ornaments.
LOGO_NOISE: Texts = ("LL", "*", "@", "00009", "99", "***", "II", "三", "O", "iii", "A", "~", "EST. 1999", "®", "C9")
#: What OCR engines take letters of decorative fonts for.
MISREAD: dict[str, Texts] = {
    "a": ("o", "e", "4", "u"), "b": ("h", "6", "8"), "c": ("e", "C", "("), "d": ("cl", "o"), "e": ("c", "o", "E"), "g": ("q", "9", "y"), "h": ("b", "n"), "i": ("l", "1", "j"),
    "l": ("1", "i", "I", "t"), "m": ("rn", "n", "w"), "n": ("h", "u", "r"), "o": ("0", "a", "c"), "r": ("v", "n", "f"), "s": ("5", "S", "z"), "t": ("f", "l", "+"),
    "u": ("v", "o", "n"), "v": ("y", "u"), "w": ("vv", "m"), "y": ("v", "g"), "z": ("2", "s"),
}  # fmt: skip
FAX_CAPTIONS: Texts = ("Fax:", "Fax", "FAX:", "Fax No.", "F:")

#: Captions by language and field; the empty caption prints the value alone.
CAPTIONS: dict[str, dict[str, Texts]] = {
    "en": {
        "subtotal": ("Subtotal", "SUB TOTAL", "Sub-total:", "SUBTOTAL", "Sub Total:", "Net Total", "Food"),
        "total": ("TOTAL", "Total:", "Total", "TOTAL DUE", "Amount Due", "BALANCE DUE", "GRAND TOTAL", "Total Sale", "BALANCE TO PAY", "Amount:"),
        "discount": ("Discount", "DISCOUNT", "Coupon", "Member Savings", "Promo"),
        "service": ("Service Charge", "Service", "Auto Gratuity", "Optional service {rate}%", "Delivery Fee"),
        "tip": ("Tip", "TIP:", "Gratuity", "Tip Amount", "TIP"),
        "cash": ("CASH", "Cash", "Cash Tendered", "CASH TEND", "Tendered"),
        "card": ("VISA", "Mastercard", "Credit Card", "DEBIT", "AMEX", "Card", "VISA CREDIT", "EFTPOS", "Credit"),
        "change": ("CHANGE", "Change Due", "Change", "CHANGE DUE", "Your change"),
        "quantity": ("ITEMS SOLD", "No. of Items", "Item Count:", "Total Items", "# ITEMS"),
        "date": ("Date", "Date:", "DATE:", "", "", "", "Order Date:", "Transaction Date"),
        "time": ("Time", "Time:", "", "", "", "TIME:"),
        "phone": ("Tel:", "Phone:", "Tel", "", "", "TEL", "Ph:", "Call us at", "T:"),
        "columns": ("Qty", "Item", "Price", "Amount"),
        "each": ("@", "x", "X", "ea", "@"),
        "discount_line": ("Discount", "Item Savings", "SC", "- Promo", "You saved"),
        "void": ("VOID", "Void", "REFUND"),
    },
    "de": {
        "subtotal": ("Zwischensumme", "Netto", "Zw.-Summe", "Nettobetrag", "Summe netto"),
        "total": ("SUMME", "Summe", "Gesamt", "GESAMTBETRAG", "Zu zahlen", "Total", "TOTAL EUR", "Summe EUR", "BETRAG", "Rechnungsbetrag"),
        "discount": ("Rabatt", "Nachlass", "Coupon"),
        "service": ("Service", "Bedienung"),
        "tip": ("Trinkgeld", "TRINKGELD"),
        "cash": ("BAR", "Bar", "Gegeben", "Geg. Bar", "Bar EUR"),
        "card": ("EC-Karte", "girocard", "Kartenzahlung", "VISA", "Mastercard", "Geg. EC-Cash"),
        "change": ("Rückgeld", "Zurück", "RÜCKGELD", "Wechselgeld"),
        "quantity": ("Posten:", "Anzahl Artikel", "Artikel"),
        "date": ("Datum", "Datum:", "", "", "Rechnungsdatum"),
        "time": ("Uhrzeit", "Uhrzeit:", "", "", "Zeit:"),
        "phone": ("Tel.", "Tel.:", "Telefon", "", "Fon:"),
        "columns": ("Menge", "Artikel", "Preis", "Betrag"),
        "each": ("x", "X", "à", "*"),
        "discount_line": ("Rabatt", "Preisvorteil", "Aktion"),
        "void": ("STORNO", "Storno"),
    },
    "fr": {
        "subtotal": ("Sous-total", "Total HT", "SOUS TOTAL", "Montant HT"),
        "total": ("TOTAL", "Total TTC", "TOTAL TTC", "NET A PAYER", "A PAYER", "Montant dû", "TOTAL EUR"),
        "discount": ("Remise", "Réduction", "Avantage"),
        "service": ("Service", "Frais de service"),
        "tip": ("Pourboire",),
        "cash": ("ESPECES", "Espèces", "Especes"),
        "card": ("CB", "Carte Bancaire", "CARTE BLEUE", "CB EMV", "Carte"),
        "change": ("RENDU", "Rendu", "A rendre", "Monnaie"),
        "quantity": ("Nombre d'articles", "Nb articles:", "ARTICLES"),
        "date": ("Date", "Le", "", "", "DATE :"),
        "time": ("", "à", "Heure", ""),
        "phone": ("Tél.", "Tel :", "Tél :", ""),
        "columns": ("Qté", "Désignation", "P.U.", "Montant"),
        "each": ("x", "X", "*"),
        "discount_line": ("Remise", "Promo"),
        "void": ("ANNULATION", "Annul."),
    },
    "es": {
        "subtotal": ("Subtotal", "Base Imponible", "BASE", "Base imp."),
        "total": ("TOTAL", "Total", "TOTAL A PAGAR", "Importe", "TOTAL EUROS", "Total €"),
        "discount": ("Descuento", "DTO."),
        "service": ("Servicio",),
        "tip": ("Propina",),
        "cash": ("EFECTIVO", "Efectivo", "Entregado", "ENTREGA"),
        "card": ("TARJETA", "Tarjeta", "VISA", "Tarjeta Bancaria"),
        "change": ("CAMBIO", "Cambio", "DEVOLUCION"),
        "quantity": ("Artículos", "Num. articulos", "UNIDADES"),
        "date": ("Fecha", "Fecha:", "FECHA", "", ""),
        "time": ("Hora", "Hora:", "", ""),
        "phone": ("Tel.", "Tlf:", "Teléfono", "TLF.", ""),
        "columns": ("Cant", "Descripción", "Precio", "Importe"),
        "each": ("x", "X", "*"),
        "discount_line": ("Descuento", "Dto", "Promoción"),
        "void": ("ANULADO", "Anul."),
    },
}  # fmt: skip

#: Lines without a label, by language.
NOTES: dict[str, dict[str, Texts]] = {
    "en": {
        "header": ("Welcome!", "Fresh every day", "www.{site}.com", "Open 7 days", "Family owned since 1984", "STORE {n}", "Manager: {name}", "CUSTOMER COPY",
                   "Sales Receipt", "*** REPRINT ***", "Tax Invoice", "Site: {n}", "{site}@mail.com", "Like us @{site}", "GUEST CHECK"),
        "slogan": ("Fine Food & Drinks", "Authentic {name} Style Cooking", "Good Food, Good Mood", "Bar & Lounge", "Quality since 1962", "Breakfast - Lunch - Dinner", "The best in town", "Your neighborhood store", "{name} Mall, Level {d}", "International Airport", "Catering Available", "Downtown"),
        "meta": ("Server: {name}", "Cashier: {name}", "Table {n}", "Order #{n}", "Check #: {n}", "Reg {n}", "Trans: {n}", "Guests: 2",
                 "Terminal: {n}", "Receipt No. {n}", "Dine In", "TAKE OUT", "Host: {name}", "Clerk {n}", "Invoice {n}", "SALE", "Check {n} Tab {n}/{name}",
                 "Tbl {n}/1 Chk {n} Gst 2", "{n} {name}", "Trans.: {n} Store: {n}", "Ticket # {n} - {n} - {n}", "Customer: {name}", "Station: {n}", "Order Type: To Go"),
        "card": ("Card #: XXXXXXXXXXXX{n}", "************{n}", "Auth Code: {n}", "Approved", "Ref #: {n}", "AID: A0000000{n}", "Entry: Chip",
                 "Signature ____________", "APPROVED - THANK YOU", "Merchant Copy", "Customer Copy", "Entry Mode: Contactless", "Exp. Date: XX/XX", "TVR: 000000{n}",
                 "Amount: {a}", "Valid thru 0{d}/2{d}", "ARC: 00", "Batch # {n}"),
        "tips": ("Suggested Tip:", "18% is {a}", "20% is {a}", "15% = {a}", "Tip: ________", "Total: ________"),
        "footer": ("Thank you!", "THANK YOU FOR SHOPPING WITH US", "Please come again", "Returns within 30 days with receipt",
                   "Visit us at www.{site}.com", "Tell us how we did", "Have a nice day!", "You were served by {name}", "Points earned: {n}", "GUEST COPY",
                   "You saved {a} today", "Taxable amount {a}", "Offer ends 1{d}/3{d}/20{d}{d}", "Exchanges until 0{d}/1{d}/20{d}{d}", "Gift card balance {a}",
                   "Hours: 11:00 AM - 9:00 PM", "Join us for happy hour 4:00-6:00", "Call 1-800-{d}{d}{d}-{d}{d}{d}{d}", "ALL SALES FINAL"),
        "survey": ("Tell us about your visit", "Take our survey and get a free drink", "within {n} days at www.{site}.com", "Enter this code: {n} {n}", "GUEST SATISFACTION SURVEY",
                   "One coupon per customer", "Not valid with any other offer", "Keep this receipt", "Validation code: ________"),
    },
    "de": {
        "header": ("Herzlich willkommen", "www.{site}.de", "Inh. {name}", "Frisch & gut"),
        "slogan": ("Gut und günstig", "Deutsche Küche", "Partyservice", "Ihr Markt in der Nähe", "Seit 1962"),
        "meta": ("Bon-Nr. {n}", "Kasse {n}", "Es bediente Sie: {name}", "Tisch {n}", "Rechnung Nr. {n}", "Beleg {n}", "Bediener {n}", "Kassenbon"),
        "card": ("Kartennummer ############{n}", "Terminal-ID {n}", "TA-Nr. {n}", "Genehmigungs-Nr. {n}", "Zahlung erfolgt", "Kundenbeleg", "VU-Nr. {n}"),
        "tips": ("Trinkgeld: ________", "Bewirtungsbeleg"),
        "footer": ("Vielen Dank für Ihren Einkauf", "Vielen Dank für Ihren Besuch!", "Auf Wiedersehen", "Umtausch nur mit Kassenbon", "TSE-Signatur {n}"),
    },
    "fr": {
        "header": ("Bienvenue", "www.{site}.fr", "Ouvert 7j/7"),
        "slogan": ("Cuisine traditionnelle", "Bar - Brasserie", "Depuis 1962", "Votre marché de proximité"),
        "meta": ("Caisse {n}", "Ticket {n}", "Table {n}", "Servi par {name}", "Vendeur {name}", "Couverts : 2", "Facture {n}"),
        "card": ("************{n}", "AUTO {n}", "DEBIT", "TICKET CLIENT A CONSERVER", "N° {n}"),
        "tips": ("Service compris",),
        "footer": ("Merci de votre visite", "A bientôt !", "Merci et à bientôt", "Ni repris ni échangé"),
    },
    "es": {
        "header": ("Bienvenidos", "www.{site}.es"),
        "slogan": ("Cocina casera", "Bar - Restaurante", "Desde 1962", "Su tienda de confianza"),
        "meta": ("Mesa {n}", "Ticket {n}", "Caja {n}", "Le atendió: {name}", "Factura simplificada {n}", "Op. {n}", "Camarero: {name}"),
        "card": ("************{n}", "Autorización {n}", "OPERACION ACEPTADA", "Comercio {n}"),
        "tips": ("IVA incluido",),
        "footer": ("Gracias por su visita", "Gracias por su compra", "Vuelva pronto", "No se admiten devoluciones sin ticket"),
    },
}  # fmt: skip

PEOPLE: Texts = (
    "Anna",
    "Ben",
    "Carla",
    "David",
    "Emma",
    "Felix",
    "Grace",
    "Hugo",
    "Ines",
    "Jack",
    "Lena",
    "Mario",
    "Nora",
    "Paul",
)


@dataclass(frozen=True)
class Trade:
    """A kind of shop: what it is called and what it sells."""

    names: Texts
    goods: dict[str, Texts] = field(default_factory=dict)  # by language
    prices: tuple[float, float] = (1.0, 20.0)
    shapes: Texts = ("price", "quantity_first", "two_lines")
    modifiers: dict[str, Texts] = field(default_factory=dict)


FIRST_WORDS: Texts = ("Corner", "Golden", "Blue", "Sunny", "Green", "Harbor", "Old Town", "Royal", "Maple", "Silver", "Red Lantern", "Nonna's",
                  "Casa", "La Petite", "Zum", "El", "Joe's", "Lotus", "Sea Breeze", "Twin Oaks", "Lucky", "Big Sky", "Urban")  # fmt: skip
TRADES: dict[str, Trade] = {
    "restaurant": Trade(
        ("Kitchen", "Grill", "Bistro", "Diner", "Trattoria", "Noodle House", "Tavern", "Steakhouse", "Sushi", "Restaurant", "Cantina", "Gasthaus"),
        {
            "en": ("Cheeseburger", "Caesar Salad", "Fish & Chips", "Ribeye Steak 12oz", "Pad Thai", "Iced Tea", "Draft Beer", "Chicken Wings (8)", "Soup of the Day",
                   "Margherita Pizza", "House Red Wine", "Diet Coke", "Kids Pasta", "Cheesecake", "Coffee", "Garlic Bread", "Lunch Special #3", "Sparkling Water",
                   "Beef Taco", "Salmon Roll", "Fried Rice", "Shrimp Cocktail", "Side Fries", "BBQ Ribs Full Rack", "Veggie Wrap"),
            "de": ("Wiener Schnitzel", "Apfelschorle 0,4", "Pils 0,5l", "Käsespätzle", "Gemischter Salat", "Kaffee", "Bratkartoffeln", "Tagessuppe", "Mineralwasser 0,25",
                   "Apfelstrudel", "Currywurst", "Weißwein 0,2", "Rinderroulade"),
            "fr": ("Menu du jour", "Steak frites", "Salade César", "Café", "Verre de vin rouge", "Crème brûlée", "Eau minérale", "Soupe à l'oignon", "Tarte aux pommes", "Demi pression"),
            "es": ("Menú del día", "Tortilla", "Café con leche", "Caña", "Ensalada mixta", "Patatas bravas", "Agua mineral", "Paella", "Croquetas", "Vino tinto copa"),
        },
        (2.0, 38.0), ("quantity_first", "quantity_first", "price", "columns", "two_lines"),
        {"en": ("No onions", "Extra cheese", "Add bacon", "Medium rare", "+ Avocado", "Gluten free", "Large", "Dressing on side", "Oat milk"),
         "de": ("ohne Zwiebeln", "extra Käse", "mit Pommes"), "fr": ("Saignant", "Sans sauce", "Supplément fromage"), "es": ("Sin cebolla", "Con queso")},
    ),
    "grocery": Trade(
        ("Market", "Foods", "Grocery", "Supermarket", "Fresh", "Pantry", "Mart", "Markt", "Marché", "Mercado"),
        {
            "en": ("BANANAS", "SKIM MILK 1GAL", "EGGS LARGE DZ", "WHEAT BREAD", "CHEDDAR 8OZ", "GREEK YOGURT", "ORG SPINACH", "GRND BEEF", "PASTA PENNE", "TOMATO SAUCE", "PAPER TOWELS",
                   "OJ NO PULP", "AVOCADO HASS", "CHKN BREAST", "BUTTER UNSLT", "CEREAL OATS", "APPLES GALA", "ICE CREAM VAN", "POTATO CHIPS", "DISH SOAP", "WATER 24PK", "CAT FOOD"),
            "de": ("BIO MILCH 3,5%", "Vollkornbrot", "BANANEN", "EIER 10ER", "Gouda jung", "JOGHURT NAT.", "TOMATEN", "Butter 250g", "MINERALWASSER", "NUDELN", "PFAND 0,25", "Kaffee gem."),
            "fr": ("LAIT 1/2 ECR", "BAGUETTE", "BEURRE DOUX", "POMMES GOLDEN", "YAOURT NAT X8", "JAMBON BLANC", "EAU 6X1,5L", "PATES 500G", "CAFE MOULU"),
            "es": ("LECHE ENTERA", "PAN BARRA", "HUEVOS 12U", "TOMATE RAMA", "QUESO CURADO", "AGUA 6X1,5", "ARROZ 1KG", "ACEITE OLIVA", "JAMON YORK"),
        },
        (0.4, 14.0), ("price_flag", "price_flag", "code_first", "price", "two_lines", "weight"),
    ),
    "shop": Trade(
        ("Hardware", "Books", "Outfitters", "Pharmacy", "Electronics", "Home", "Garden Center", "Sports", "Toys", "Boutique", "Stationery", "Apotheke", "Librairie"),
        {
            "en": ("USB-C Cable 2m", "Notebook A5", "LED Bulb 9W", "Wood Screws 4x40", "T-Shirt M Black", "Running Socks 3pk", "Garden Hose 50ft", "Ibuprofen 200mg", "Paint Roller",
                   "AA Batteries 8pk", "Gift Card", "Desk Lamp", "Phone Case", "Yoga Mat", "Storage Box 20L", "Toothpaste", "Greeting Card"),
            "de": ("USB-Kabel 2m", "Heft A5 liniert", "LED-Lampe 9W", "Holzschrauben 4x40", "T-Shirt M", "Batterien AA", "Kopfschmerztabl.", "Blumenerde 20l"),
            "fr": ("Cahier A5", "Ampoule LED", "T-shirt M", "Piles AA x4", "Doliprane 1000", "Câble USB", "Terreau 20L"),
            "es": ("Cuaderno A5", "Bombilla LED", "Camiseta M", "Pilas AA", "Ibuprofeno 400", "Cable USB", "Libro"),
        },
        (1.0, 89.0), ("code_first", "code_below", "price", "two_lines", "columns", "price_flag"),
    ),
    "fuel": Trade(
        ("Fuel", "Gas & Go", "Petrol", "Energy", "Station", "Tankstelle"),
        {"en": ("REGULAR", "UNLEADED", "DIESEL", "PREMIUM"), "de": ("Super E10", "Diesel"), "fr": ("SP95-E10", "GAZOLE"), "es": ("SIN PLOMO 95", "GASOLEO A")},
        (20.0, 80.0), ("fuel",),
    ),
    "hotel": Trade(
        ("Hotel", "Inn", "Lodge", "Suites", "Pension"),
        {"en": ("Room Charge", "Breakfast Buffet", "Parking", "Minibar", "City View King", "Resort Fee"), "de": ("Übernachtung EZ", "Frühstück", "Parkplatz"),
         "fr": ("Chambre double", "Petit déjeuner", "Parking"), "es": ("Habitación doble", "Desayuno", "Parking")},
        (9.0, 260.0), ("price", "columns", "quantity_first"),
    ),
    "cafe": Trade(
        ("Coffee", "Cafe", "Bakery", "Tea House", "Juice Bar", "Bäckerei", "Boulangerie", "Cafetería"),
        {"en": ("Latte 12oz", "Flat White", "Croissant", "Blueberry Muffin", "Bagel w/ Cream Cheese", "Cold Brew", "Chai Tea", "Cookie", "Avocado Toast", "Cappuccino"),
         "de": ("Cappuccino", "Brezel", "Brötchen", "Latte Macchiato", "Stück Kuchen"), "fr": ("Croissant", "Pain au chocolat", "Expresso", "Baguette tradition"),
         "es": ("Café solo", "Croissant", "Zumo natural", "Tostada")},
        (1.2, 9.0), ("price", "quantity_first", "two_lines", "quantity_last"),
        {"en": ("Oat milk", "Extra shot", "Decaf", "To go"), "de": ("Hafermilch",), "fr": ("Lait d'avoine",), "es": ("Leche de avena",)},
    ),
}  # fmt: skip
