import type { Reference } from '../research.ts';
import { getSourceHost, toSingleLine, parseWebUrl } from './format-text.ts';
import { safeHtml, EMPTY_HTML, type SafeHtml } from './html-template.ts';
import type { ReportLabels } from './report-labels.ts';

export interface CitationLinks {
  /** Returns the citation mark as a link to its source, or as text if the source does not exist. */
  createLink(index: number): SafeHtml;
  /** Returns the number of links created for a source so far. */
  countLinks(index: number): number;
}

const getSourceId = (index: number): string => `source-${index}`;
const getMarkId = (index: number, time: number): string => `mark-${index}-${time}`;

/** Creates the citation links of a page. Call `createLink` in the order of the page: link ids are numbered. */
export function createCitationLinks(
  references: readonly Reference[],
  labels: Pick<ReportLabels, 'formatSource'>,
): CitationLinks {
  const titles = new Map(references.map(({ index, title }) => [index, toSingleLine(title)]));
  const counts = new Map<number, number>();
  return {
    createLink(index) {
      const title = titles.get(index);
      if (title === undefined) return safeHtml`[[${index}]]`;
      const time = (counts.get(index) ?? 0) + 1;
      counts.set(index, time);
      return safeHtml`<sup class="mark"><a href="#${getSourceId(index)}" id="${getMarkId(index, time)}" title="${title}" aria-label="${labels.formatSource(index)}">${index}</a></sup>`;
    },
    countLinks: (index) => counts.get(index) ?? 0,
  };
}

/** Creates the source list, with links back to the citations. Empty without sources. */
export function renderSourceList(
  references: readonly Reference[],
  links: CitationLinks,
  labels: ReportLabels,
): SafeHtml {
  if (references.length === 0) return EMPTY_HTML;
  const items = references.map((reference) => createSourceItem(reference, links.countLinks(reference.index), labels));
  return safeHtml`<section class="sources" id="sources">
<h2>${labels.sources}</h2>
<ol>
${items}</ol>
</section>
`;
}

function createSourceItem(
  { index, title, description, url }: Reference,
  count: number,
  labels: ReportLabels,
): SafeHtml {
  const address = parseWebUrl(url);
  const host = getSourceHost(url, labels.localIndex);
  const name = toSingleLine(title) || host || labels.untitled;
  const link = address === undefined ? safeHtml`${name}` : safeHtml`<a href="${address}" rel="noreferrer">${name}</a>`;
  const location = address === undefined ? [host, toSingleLine(url)].filter((part) => part !== '').join(' · ') : host;
  const about = description === '' ? EMPTY_HTML : safeHtml`<p class="description">${toSingleLine(description)}</p>\n`;
  const printed = address === undefined ? EMPTY_HTML : safeHtml`<p class="address">${address}</p>\n`;
  return safeHtml`<li id="${getSourceId(index)}"><span class="number">${index}</span><div>
<p class="title">${link}</p>
<p class="place">${location}${createBackLinks(index, count, labels)}</p>
${about}${printed}</div></li>
`;
}

function createBackLinks(index: number, count: number, labels: ReportLabels): SafeHtml {
  if (count === 0) return EMPTY_HTML;
  const links = Array.from({ length: count }, (_, at) => {
    const href = safeHtml`#${getMarkId(index, at + 1)}`;
    return safeHtml` <a href="${href}" aria-label="${labels.formatBackLink(at + 1)}">${count === 1 ? '↩' : at + 1}</a>`;
  });
  return safeHtml`<span class="back">${count === 1 ? '' : '↩'}${links}</span>`;
}
