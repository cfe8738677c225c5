import { attributeOf, readMarkup } from '../read-markup.ts';

/** What the name of a paragraph's style says about it. */
export interface ParagraphStyle {
  /** Of a heading, from 1. */
  readonly level: number | undefined;
  /** The list that its paragraphs are items of. */
  readonly list: string | undefined;
}

const DEEPEST = 6;

/** Styles that stand on each other; they may do so in a circle. */
const STEPS_MAX = 20;

interface Own {
  level: number | undefined;
  list: string | undefined;
  basedOn: string | undefined;
}

/** By the ids of styles: what each says itself, or the nearest of those that it is based on. */
export function paragraphStyles(styles: Uint8Array | undefined): ReadonlyMap<string, ParagraphStyle> {
  const all = new Map<string, Own>();
  if (!styles) return all;
  let own: Own | undefined;
  const setLevel = (level: number): void => {
    if (own && own.level === undefined && level >= 1 && level <= DEEPEST) own.level = level;
  };
  readMarkup(styles, 'xml', {
    open(name, attributes) {
      const value = attributeOf(attributes, 'val') ?? '';
      if (name === 'style') {
        own = { level: undefined, list: undefined, basedOn: undefined };
        all.set(attributeOf(attributes, 'styleId') ?? '', own);
      } else if (name === 'name')
        setLevel(/^title$/i.test(value) ? 1 : Number(/^heading (\d)$/i.exec(value)?.[1] ?? 0));
      else if (name === 'outlineLvl') setLevel(Number(value) + 1);
      else if (name === 'numId' && own) own.list = value;
      else if (name === 'basedOn' && own) own.basedOn = value;
    },
    close(name) {
      if (name === 'style') own = undefined;
    },
  });
  const inherited = <K extends 'level' | 'list'>(id: string, what: K): Own[K] | undefined => {
    let at = all.get(id);
    for (let steps = 0; at && at[what] === undefined && steps < STEPS_MAX; steps++) at = all.get(at.basedOn ?? '');
    return at?.[what];
  };
  return new Map([...all.keys()].map((id) => [id, { level: inherited(id, 'level'), list: inherited(id, 'list') }]));
}
