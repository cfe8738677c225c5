/** Style sheet of a report: one text column, contents beside it on wide screens, black on white in print. */
export const REPORT_STYLE = `
:root {
  --paper: #fdfcf9; --raised: #f1ede3; --ink: #211e1a; --soft: #6a645b; --rule: #e3ddd1; --accent: #17607a; --glow: #fff1c4;
  --text: Charter, 'Bitstream Charter', 'Iowan Old Style', 'Source Serif 4', 'Noto Serif', Georgia, 'Songti SC', 'Noto Serif CJK SC', 'Source Han Serif SC', serif;
  --plain: system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'Helvetica Neue', Arial, 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif;
}
@media (prefers-color-scheme: dark) {
  :root { --paper: #16181b; --raised: #22262b; --ink: #e3dfd7; --soft: #9c968b; --rule: #30343a; --accent: #86c5da; --glow: #3d3820; }
}
* { box-sizing: border-box; }
html { font-size: clamp(16.5px, 0.45vw + 14.5px, 19px); -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body {
  margin: 0; padding: clamp(1.5rem, 5vw, 4.5rem) clamp(1.15rem, 5vw, 3rem) 5rem;
  background: var(--paper); color: var(--ink); font: 1rem/1.62 var(--text);
  font-kerning: normal; font-synthesis-style: none; text-rendering: optimizeLegibility; overflow-wrap: break-word;
}
a { color: var(--accent); text-decoration-thickness: 1px; text-underline-offset: 0.18em; }
a:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; border-radius: 2px; }
p { margin: 0; }
ol, ul, dl, dd { margin: 0; padding: 0; list-style: none; }
.head, .columns { max-width: 35rem; margin-inline: auto; }

.kind { display: flex; gap: 1.2em; justify-content: space-between; font: 600 0.72rem/1.4 var(--plain); letter-spacing: 0.06em; color: var(--accent); }
.kind time { font-weight: 400; letter-spacing: 0.01em; color: var(--soft); }
h1 { margin: 0.55em 0 0.5em; font-size: clamp(1.85rem, 4.2vw + 0.7rem, 2.7rem); line-height: 1.14; font-weight: 600; letter-spacing: -0.014em; text-wrap: balance; }
.question { font-size: 1.14rem; line-height: 1.5; font-style: italic; color: var(--soft); text-wrap: pretty; }
.facts { display: flex; flex-wrap: wrap; gap: 0.2rem 1.5rem; margin-top: 1.5rem; padding-block: 0.75rem; border-block: 1px solid var(--rule); font: 0.8rem/1.6 var(--plain); color: var(--soft); font-variant-numeric: tabular-nums; }
.note { margin-top: 1rem; padding: 0.65rem 0.9rem; background: var(--glow); border-radius: 6px; font: 0.82rem/1.5 var(--plain); }

.contents { margin-block: 1.9rem 0.5rem; font: 0.84rem/1.45 var(--plain); }
.contents p { margin-bottom: 0.5rem; font-weight: 600; color: var(--soft); font-size: 0.76rem; }
.contents li { margin-block: 0.42rem; }
.contents ol + ol { margin-top: 0.9rem; padding-top: 0.9rem; border-top: 1px solid var(--rule); }
.contents a { color: inherit; text-decoration: none; }
.contents a:hover { color: var(--accent); text-decoration: underline; }

h2, h3, h4 { line-height: 1.28; font-weight: 600; text-wrap: balance; scroll-margin-top: 1.5rem; break-after: avoid; }
h2 { margin: 2.5em 0 0.65em; font-size: 1.42rem; letter-spacing: -0.008em; }
h3 { margin: 1.9em 0 0.5em; font-size: 1.13rem; }
h4 { margin: 1.6em 0 0.4em; font-size: 1rem; font-style: italic; }
article > :first-child { margin-top: 1.7rem; }
article p { text-wrap: pretty; hanging-punctuation: first allow-end; orphans: 3; widows: 3; }
.remark { color: var(--soft); font-style: italic; }
article p + p { margin-top: 0.95em; }
.question:lang(zh), .remark:lang(zh), h4:lang(zh) { font-style: normal; }

.mark { font: 500 0.66em/0 var(--plain); vertical-align: baseline; position: relative; top: -0.46em; margin-inline-start: 0.2em; font-variant-numeric: tabular-nums; }
.mark a { padding: 0.18em 0.34em; border-radius: 0.5em; background: var(--raised); text-decoration: none; scroll-margin-block: 40vh; }
.mark a:hover, .mark a:target { background: var(--accent); color: var(--paper); }

.sources, .work { margin-top: 4rem; padding-top: 0.4rem; border-top: 1px solid var(--rule); font-family: var(--plain); }
.sources h2, .work h2 { margin-top: 1.3rem; font: 600 1.15rem/1.3 var(--plain); letter-spacing: 0; }
.sources li { display: grid; grid-template-columns: 2.1rem minmax(0, 1fr); padding: 0.8rem 0.7rem; margin-inline: -0.7rem; border-radius: 8px; scroll-margin-top: 1.5rem; break-inside: avoid; }
.sources li:target { background: var(--glow); }
.number { color: var(--soft); font-size: 0.8rem; line-height: 1.72; font-variant-numeric: tabular-nums; }
.title { font-size: 0.92rem; line-height: 1.45; font-weight: 500; }
.title a { text-decoration: none; }
.title a:hover { text-decoration: underline; }
.place, .description, .address { font-size: 0.78rem; line-height: 1.5; color: var(--soft); }
.place { margin-top: 0.12rem; }
.description { margin-top: 0.3rem; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 3; overflow: hidden; }
.address { display: none; }
.back { margin-inline-start: 0.8em; white-space: normal; }
.back a { padding-inline: 0.25em; text-decoration: none; }
.back a:hover { text-decoration: underline; }

.work dl { display: grid; grid-template-columns: 7.5rem minmax(0, 1fr); gap: 0.85rem 1rem; font-size: 0.84rem; line-height: 1.55; }
.work dt { color: var(--soft); }
.queries li { margin-bottom: 0.6rem; }
.queries q { display: block; font-weight: 500; quotes: none; }
.queries span { color: var(--soft); }

@media (max-width: 67.99rem) { .contents { padding-bottom: 1.4rem; border-bottom: 1px solid var(--rule); } }
@media (max-width: 30rem) { .work dl { grid-template-columns: 1fr; gap: 0.1rem; } .work dd { margin-bottom: 0.9rem; } }
@media (min-width: 68rem) {
  .head, .columns { max-width: 54rem; }
  .columns { display: grid; grid-template-columns: minmax(0, 35rem) 15rem; gap: 4rem; }
  .contents { order: 2; position: sticky; top: 2rem; align-self: start; max-height: calc(100vh - 4rem); overflow-y: auto; margin-top: 1.9rem; padding-inline-start: 1.4rem; border-inline-start: 1px solid var(--rule); }
}
@media print {
  :root { --paper: #fff; --raised: #fff; --ink: #000; --soft: #444; --rule: #bbb; --accent: #000; --glow: #fff; }
  @page { margin: 22mm 20mm; }
  html { font-size: 10.5pt; }
  body { padding: 0; }
  .head, .columns { display: block; max-width: none; }
  .contents, .back { display: none; }
  .mark a { padding: 0; }
  .mark a::before { content: '['; } .mark a::after { content: ']'; }
  .address { display: block; word-break: break-all; }
  .sources, .work { margin-top: 2rem; }
  .description { display: none; }
  .note { padding: 0; font-style: italic; }
}
`;
