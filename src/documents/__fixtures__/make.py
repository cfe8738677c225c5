# Creates the documents in this folder: python3 make.py, with python-docx 1.2.0, openpyxl 3.1.5, python-pptx 1.0.2,
# reportlab 5.1.0 and EbookLib 0.20. The documents are committed, so that no test needs Python.
import datetime
import io
import os
import zipfile

import docx
from docx.oxml import OxmlElement
from ebooklib import epub
from openpyxl import Workbook
from pptx import Presentation
from pptx.util import Inches
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen import canvas

here = os.path.dirname(os.path.abspath(__file__))


def at(name):
    return os.path.join(here, name)


def make_docx():
    document = docx.Document()
    document.add_heading("Quarterly report", 0)
    document.add_paragraph("Revenue rose by 12 % – 收入增长。")
    document.add_heading("Plan", 1)
    document.add_paragraph("hire two people", style="List Bullet")
    document.add_paragraph("open an office", style="List Bullet")
    document.add_paragraph("first", style="List Number")
    document.add_paragraph("second", style="List Number")
    table = document.add_table(rows=2, cols=2)
    for row, values in enumerate([("City", "People"), ("Köln", "1\u202f087\u202f863")]):
        for column, value in enumerate(values):
            table.cell(row, column).text = value
    paragraph = document.add_paragraph("Seen. ")
    hidden = paragraph.add_run("hidden words")
    hidden.font.hidden = True
    deleted = OxmlElement("w:del")
    run = OxmlElement("w:r")
    text = OxmlElement("w:delText")
    text.text = "deleted words"
    run.append(text)
    deleted.append(run)
    paragraph._p.append(deleted)
    document.sections[0].header.paragraphs[0].text = "header words"
    document.save(at("report.docx"))


def make_xlsx():
    workbook = Workbook()
    sheet = workbook.active
    sheet.title = "Sales"
    sheet.append(["Day", "Item", "Price", "Paid"])
    sheet.append([datetime.date(2026, 7, 1), "tea\nand cake", 3.5, True])
    sheet.append([datetime.datetime(2026, 7, 2, 9, 30), "绿茶", 12, False])
    sheet["F5"] = "far out"
    sheet["C6"] = "=SUM(C2:C3)"
    workbook.create_sheet("Empty")
    workbook.create_sheet("Notes")["B2"] = "second sheet"
    workbook.save(at("sales.xlsx"))


def make_pptx():
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Roadmap"
    body = slide.placeholders[1].text_frame
    body.text = "faster"
    body.add_paragraph().text = "smaller"
    slide.notes_slide.notes_text_frame.text = "speak slowly"
    second = presentation.slides.add_slide(presentation.slide_layouts[5])
    second.shapes.title.text = "Figures"
    table = second.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
    for row, values in enumerate([("Year", "Sum"), ("2026", "42")]):
        for column, value in enumerate(values):
            table.cell(row, column).text = value
    presentation.save(at("roadmap.pptx"))


def make_epub():
    book = epub.EpubBook()
    book.set_identifier("parley-fixture")
    book.set_title("A small book")
    book.set_language("en")
    chapters = []
    for number, words in [(1, "It began."), (2, "It ended &amp; all was well.")]:
        chapter = epub.EpubHtml(title=f"Chapter {number}", file_name=f"chapter {number}.xhtml")
        chapter.content = f"<h1>Chapter {number}</h1><p>{words}</p><script>no words</script>"
        book.add_item(chapter)
        chapters.append(chapter)
    book.toc = chapters
    book.add_item(epub.EpubNcx())
    book.spine = chapters
    epub.write_epub(at("book.epub"), book)


def draw(sheet):
    sheet.setFont("Helvetica", 12)
    sheet.drawString(72, 720, "First page: the answer is 42.")
    sheet.drawString(72, 700, "Second line")
    sheet.showPage()
    sheet.drawString(72, 720, "Second page")
    sheet.showPage()
    sheet.save()


def make_pdfs():
    draw(canvas.Canvas(at("two-pages.pdf"), invariant=1))
    draw(canvas.Canvas(at("locked.pdf"), encrypt=StandardEncryption("secret"), invariant=1))
    empty = canvas.Canvas(at("picture.pdf"), invariant=1)
    empty.rect(72, 72, 100, 100, fill=1)
    empty.showPage()
    empty.save()
    chinese = canvas.Canvas(at("foreign-font.pdf"), invariant=1)
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    chinese.setFont("STSong-Light", 12)
    chinese.drawString(72, 720, "中文没有嵌入字体")
    chinese.showPage()
    chinese.save()


make_docx()
make_xlsx()
make_pptx()
make_epub()
make_pdfs()
