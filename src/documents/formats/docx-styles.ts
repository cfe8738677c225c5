import { getAttribute, readMarkup } from '../read-markup.ts';

/** Properties of a paragraph style. */
export interface ParagraphStyle {
  /** Heading level from 1. */
  readonly level: number | undefined;
  /** Id of the list of its paragraphs. */
  readonly list: string | undefined;
}

const HEADING_LEVEL_MAX = 6;

/** Limit of the style inheritance chain, which may contain a cycle. */
const BASED_ON_STEPS_MAX = 20;

interface StyleDefinition {
  level: number | undefined;
  list: string | undefined;
  basedOn: string | undefined;
}

/** Returns styles by id, with properties inherited from the styles that they are based on. */
export function readParagraphStyles(styles: Uint8Array | undefined): ReadonlyMap<string, ParagraphStyle> {
  const definitions = new Map<string, StyleDefinition>();
  if (!styles) return definitions;
  let current: StyleDefinition | undefined;
  const setLevel = (level: number): void => {
    if (current && current.level === undefined && level >= 1 && level <= HEADING_LEVEL_MAX) current.level = level;
  };
  readMarkup(styles, 'xml', {
    open(name, attributes) {
      const value = getAttribute(attributes, 'val') ?? '';
      if (name === 'style') {
        current = { level: undefined, list: undefined, basedOn: undefined };
        definitions.set(getAttribute(attributes, 'styleId') ?? '', current);
      } else if (name === 'name')
        setLevel(/^title$/i.test(value) ? 1 : Number(/^heading (\d)$/i.exec(value)?.[1] ?? 0));
      else if (name === 'outlineLvl') setLevel(Number(value) + 1);
      else if (name === 'numId' && current) current.list = value;
      else if (name === 'basedOn' && current) current.basedOn = value;
    },
    close(name) {
      if (name === 'style') current = undefined;
    },
  });
  const findInherited = <K extends 'level' | 'list'>(id: string, property: K): StyleDefinition[K] | undefined => {
    let definition = definitions.get(id);
    for (let steps = 0; definition && definition[property] === undefined && steps < BASED_ON_STEPS_MAX; steps++)
      definition = definitions.get(definition.basedOn ?? '');
    return definition?.[property];
  };
  return new Map(
    [...definitions.keys()].map((id) => [id, { level: findInherited(id, 'level'), list: findInherited(id, 'list') }]),
  );
}
