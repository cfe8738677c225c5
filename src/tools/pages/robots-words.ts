import { ROBOT_NAME } from './robots.ts';

/** Words with a value behind a colon, which is no name of a robot before it. */
const WITH_VALUE: ReadonlySet<string> = new Set([
  'max-snippet',
  'max-image-preview',
  'max-video-preview',
  'unavailable_after',
]);

/**
 * Whether a page wishes that no model answers with it: `noai`, or `nosnippet` (and `max-snippet:0`), which says that nothing
 * of it is to be quoted. What speaks of indexes and links (`noindex`, `nofollow`, `none`, `noarchive`) does not matter here: a
 * page is read for one answer and not kept.
 *
 * @param words As `X-Robots-Tag` has them, in which a robot's name may stand before what is for it alone, or as in an element
 * `meta`.
 */
export function refusesModels(words: string): boolean {
  let addressed = '';
  for (const part of words.toLowerCase().split(',')) {
    const [first = '', ...rest] = part.split(':').map((piece) => piece.trim());
    const isNamed = rest.length > 0 && !WITH_VALUE.has(first);
    if (isNamed) addressed = first;
    if (addressed !== '' && addressed !== ROBOT_NAME.toLowerCase()) continue;
    const [word = '', value] = isNamed ? rest : [first, ...rest];
    if (word.split(/\s+/).some((one) => one === 'noai' || one === 'nosnippet')) return true;
    if (word === 'max-snippet' && value === '0') return true;
  }
  return false;
}
