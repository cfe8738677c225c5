import { ROBOT_NAME } from './robot-name.ts';

/** Directives with a value after a colon; other words before a colon are robot names. */
const DIRECTIVES_WITH_VALUE: ReadonlySet<string> = new Set([
  'max-snippet',
  'max-image-preview',
  'max-video-preview',
  'unavailable_after',
]);

/**
 * Whether robots directives forbid that a model uses the page: `noai`, or `nosnippet` and `max-snippet:0`, which forbid
 * quoting it. Directives about indexes and links (`noindex`, `nofollow`, `none`, `noarchive`) do not matter, because a
 * page is read for one response and not stored.
 *
 * @param directives Value of `X-Robots-Tag`, where a robot name may precede directives for that robot, or of a `meta`
 * element.
 */
export function forbidsModelUse(directives: string): boolean {
  let robotName = '';
  for (const part of directives.toLowerCase().split(',')) {
    const [first = '', ...rest] = part.split(':').map((piece) => piece.trim());
    const isNamed = rest.length > 0 && !DIRECTIVES_WITH_VALUE.has(first);
    if (isNamed) robotName = first;
    if (robotName !== '' && robotName !== ROBOT_NAME.toLowerCase()) continue;
    const [word = '', value] = isNamed ? rest : [first, ...rest];
    if (word.split(/\s+/).some((one) => one === 'noai' || one === 'nosnippet')) return true;
    if (word === 'max-snippet' && value === '0') return true;
  }
  return false;
}
