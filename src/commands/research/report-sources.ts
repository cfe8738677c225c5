import type { Reference } from '../../core/research.ts';
import { hostOf, oneLine, webAddress } from './describe.ts';
import { markup, NOTHING, type Markup } from './markup.ts';
import type { ReportWords } from './report-words.ts';

export interface Marks {
  /** The mark as a link to its source; as text where there is no such source. */
  link(index: number): Markup;
  /** How often a source was linked so far. */
  count(index: number): number;
}

const sourceId = (index: number): string => `source-${index}`;
const markId = (index: number, time: number): string => `mark-${index}-${time}`;

/** Marks of a page are made in its order. */
export function createMarks(references: readonly Reference[], words: Pick<ReportWords, 'source'>): Marks {
  const titles = new Map(references.map(({ index, title }) => [index, oneLine(title)]));
  const counts = new Map<number, number>();
  return {
    link(index) {
      const title = titles.get(index);
      if (title === undefined) return markup`[[${index}]]`;
      const time = (counts.get(index) ?? 0) + 1;
      counts.set(index, time);
      return markup`<sup class="mark"><a href="#${sourceId(index)}" id="${markId(index, time)}" title="${title}" aria-label="${words.source(index)}">${index}</a></sup>`;
    },
    count: (index) => counts.get(index) ?? 0,
  };
}

/** Each with links back to where it is cited. Nothing where there are none. */
export function sourceList(references: readonly Reference[], marks: Marks, words: ReportWords): Markup {
  if (references.length === 0) return NOTHING;
  const items = references.map((reference) => sourceItem(reference, marks.count(reference.index), words));
  return markup`<section class="sources" id="sources">
<h2>${words.sources}</h2>
<ol>
${items}</ol>
</section>
`;
}

function sourceItem({ index, title, description, url }: Reference, count: number, words: ReportWords): Markup {
  const address = webAddress(url);
  const host = hostOf(url, words.localIndex);
  const name = oneLine(title) || host || words.untitled;
  const link = address === undefined ? markup`${name}` : markup`<a href="${address}" rel="noreferrer">${name}</a>`;
  const place = address === undefined ? [host, oneLine(url)].filter((part) => part !== '').join(' · ') : host;
  const about = description === '' ? NOTHING : markup`<p class="description">${oneLine(description)}</p>\n`;
  const printed = address === undefined ? NOTHING : markup`<p class="address">${address}</p>\n`;
  return markup`<li id="${sourceId(index)}"><span class="number">${index}</span><div>
<p class="title">${link}</p>
<p class="place">${place}${backLinks(index, count, words)}</p>
${about}${printed}</div></li>
`;
}

function backLinks(index: number, count: number, words: ReportWords): Markup {
  if (count === 0) return NOTHING;
  const links = Array.from({ length: count }, (_, at) => {
    const href = markup`#${markId(index, at + 1)}`;
    return markup` <a href="${href}" aria-label="${words.backTo(at + 1)}">${count === 1 ? '↩' : at + 1}</a>`;
  });
  return markup`<span class="back">${count === 1 ? '' : '↩'}${links}</span>`;
}
