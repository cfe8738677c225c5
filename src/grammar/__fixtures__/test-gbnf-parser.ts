/** A GBNF grammar, parsed by code that is independent of the code that writes GBNF. */
export interface GbnfGrammar {
  readonly ruleCount: number;
  /**
   * Generates a random text; `random` returns numbers from 0 (inclusive) to 1. Takes the shortest way out after a
   * while.
   */
  generateText(random: () => number): string;
  /** Follows all parses in parallel, as engines do. `parsesMax` is the largest number of parallel parses. */
  parseText(text: string): { readonly accepted: boolean; readonly parsesMax: number };
}

type Element = { readonly rule: number } | { readonly ranges: readonly (readonly [number, number])[]; readonly isNegated: boolean };
type Alternative = readonly Element[];

/** Number of elements after which a random text takes the shortest way to its end. */
const FREE_STEPS = 400;

export function parseTestGbnf(text: string): GbnfGrammar {
  const rules = parse(text);
  const root = rules.root;
  const costs = computeCosts(rules.alternatives);
  const parseAlternatives = (rule: number): readonly Alternative[] => rules.alternatives[rule] ?? [];

  return {
    ruleCount: rules.alternatives.length,
    generateText(random) {
      const below = (count: number): number => Math.floor(random() * count);
      const stack: Element[] = [{ rule: root }];
      let written = '';
      let steps = 0;
      for (let element = stack.pop(); element; element = stack.pop()) {
        if ('ranges' in element) {
          written += parseCharacter(element, below);
          continue;
        }
        const all = parseAlternatives(element.rule);
        const cheapest = Math.min(...all.map((each) => computeCost(each, costs)));
        if (cheapest === Infinity) throw new Error('a rule has no member');
        const open = ++steps < FREE_STEPS ? all.filter((each) => computeCost(each, costs) < Infinity) : all.filter((each) => computeCost(each, costs) === cheapest);
        stack.push(...(open[below(open.length)] ?? []).toReversed());
      }
      return written;
    },
    parseText(input) {
      let parsesMax = 0;
      let parses = expand([undefined], root, parseAlternatives, true);
      for (const character of input) {
        const code = character.codePointAt(0) ?? 0;
        const next: (Frame | undefined)[] = [];
        for (const parse of parses.values()) {
          const element = parse && parse.alternative[parse.at];
          if (element && 'ranges' in element && holds(element, code)) next.push(advance(parse));
        }
        parses = expand(next, root, parseAlternatives, false);
        parsesMax = Math.max(parsesMax, parses.size);
        if (parses.size === 0) return { accepted: false, parsesMax };
      }
      return { accepted: parses.has(''), parsesMax };
    },
  };
}

/** A position in an alternative and the position to continue at afterwards. Equal frames have equal keys. */
interface Frame {
  readonly alternative: Alternative;
  readonly at: number;
  readonly next: Frame | undefined;
  readonly key: string;
}

const ids = new WeakMap<Alternative, number>();
const counter = { last: 0 };

function frame(alternative: Alternative, at: number, next: Frame | undefined): Frame | undefined {
  // A completed alternative leaves no frame behind, so that recursion at its end needs no depth.
  if (at === alternative.length) return next;
  let id = ids.get(alternative);
  if (id === undefined) ids.set(alternative, (id = ++counter.last));
  return { alternative, at, next, key: `${id}.${at}/${next?.key ?? ''}` };
}

const advance = ({ alternative, at, next }: Frame): Frame | undefined => frame(alternative, at + 1, next);

function expand(
  from: readonly (Frame | undefined)[],
  root: number,
  alternativesOf: (rule: number) => readonly Alternative[],
  isStart: boolean,
): Map<string, Frame | undefined> {
  const parses = new Map<string, Frame | undefined>();
  const seen = new Set<string>();
  const waiting = isStart ? alternativesOf(root).map((each) => frame(each, 0, undefined)) : [...from];
  for (; waiting.length > 0; ) {
    const parse = waiting.pop();
    const key = parse?.key ?? '';
    if (seen.has(key)) continue;
    seen.add(key);
    const element = parse?.alternative[parse.at];
    if (parse && element && 'rule' in element) {
      for (const each of alternativesOf(element.rule)) waiting.push(frame(each, 0, advance(parse)));
    } else parses.set(key, parse);
  }
  return parses;
}

const holds = ({ ranges, isNegated }: Extract<Element, { ranges: unknown }>, code: number): boolean =>
  ranges.some(([from, to]) => code >= from && code <= to) !== isNegated;

function parseCharacter(element: Extract<Element, { ranges: unknown }>, below: (count: number) => number): string {
  const samples = [0x20, 0x61, 0x7a, 0x30, 0x22, 0x5c, 0xe9, 0x4e2d, 0x1f600, 0x7f, 0x2028];
  for (;;) {
    const [from, to] = element.isNegated ? [0x20, 0x7e] : (element.ranges[below(element.ranges.length)] ?? [0, 0]);
    const sample = samples[below(samples.length)] ?? 0;
    const code = below(3) === 0 && sample >= from && sample <= to ? sample : from + below(Math.min(to - from, 200) + 1);
    const isSurrogate = code >= 0xd800 && code <= 0xdfff;
    if (!isSurrogate && holds(element, code)) return String.fromCodePoint(code);
    const other = element.isNegated ? sample : to;
    if (holds(element, other) && !(other >= 0xd800 && other <= 0xdfff)) return String.fromCodePoint(other);
  }
}

const computeCost = (alternative: Alternative, costs: readonly number[]): number =>
  alternative.reduce((sum, element) => sum + ('rule' in element ? (costs[element.rule] ?? Infinity) : 1), 1);

/** Returns the length of the shortest way through each rule. */
function computeCosts(rules: readonly (readonly Alternative[])[]): readonly number[] {
  const costs = rules.map(() => Infinity);
  for (let changed = true; changed; ) {
    changed = false;
    for (const [at, alternatives] of rules.entries()) {
      const cost = Math.min(Infinity, ...alternatives.map((each) => computeCost(each, costs)));
      if (cost < (costs[at] ?? Infinity)) {
        costs[at] = cost;
        changed = true;
      }
    }
  }
  return costs;
}

function parse(text: string): { readonly root: number; readonly alternatives: readonly (readonly Alternative[])[] } {
  const names = new Map<string, number>();
  const alternatives: (readonly Alternative[] | undefined)[] = [];
  const parseNumber = (name: string): number => {
    const known = names.get(name) ?? alternatives.length;
    if (known === alternatives.length) alternatives.push(undefined);
    names.set(name, known);
    return known;
  };
  const add = (made: readonly Alternative[]): { readonly rule: number } => ({ rule: alternatives.push(made) - 1 });
  let at = 0;
  const fail = (what: string): never => {
    throw new Error(`${what} at ${at}: ${text.slice(at, at + 40)}`);
  };
  const blanks = (): void => {
    while (/[ \t]/.test(text[at] ?? '')) at++;
  };

  function character(): number {
    const code = text.codePointAt(at) ?? fail('the grammar ends');
    at += code > 0xffff ? 2 : 1;
    if (code !== 0x5c) return code;
    const kind = text[at++] ?? '';
    const digits = { x: 2, u: 4, U: 8 }[kind];
    if (digits !== undefined) {
      const hex = text.slice(at, at + digits);
      at += digits;
      return /^[\da-fA-F]+$/.test(hex) ? Number.parseInt(hex, 16) : fail('bad escape');
    }
    const plain = { n: 10, r: 13, t: 9, '"': 0x22, '\\': 0x5c, '[': 0x5b, ']': 0x5d, '-': 0x2d }[kind];
    return plain ?? fail('unknown escape');
  }

  function choice(): readonly Alternative[] {
    const all = [sequence()];
    for (blanks(); text[at] === '|'; blanks()) {
      at++;
      all.push(sequence());
    }
    return all;
  }

  function sequence(): Alternative {
    const elements: Element[] = [];
    for (;;) {
      blanks();
      const next = text[at];
      let item: Alternative;
      if (next === '"') {
        at++;
        const letters: Element[] = [];
        while (text[at] !== '"') {
          const code = character();
          letters.push({ ranges: [[code, code]], isNegated: false });
        }
        at++;
        item = letters;
      } else if (next === '[') item = [characterClass()];
      else if (next === '(') {
        at++;
        const made = choice();
        if (text[at++] !== ')') fail('no closing bracket');
        item = [add(made)];
      } else if (next !== undefined && /[a-zA-Z]/.test(next)) {
        const name = /^[a-zA-Z0-9-]+/.exec(text.slice(at, at + 200))?.[0] ?? '';
        at += name.length;
        item = [{ rule: parseNumber(name) }];
      } else return elements;
      elements.push(...repeated(item));
    }
  }

  function repeated(item: Alternative): Alternative {
    const mark = text[at] ?? '';
    const bounds = /^\{(\d+)(,?)(\d*)\}/.exec(text.slice(at, at + 24));
    if (!'?*+'.includes(mark) && !bounds) return item;
    if (mark === '') return item;
    at += bounds?.[0].length ?? 1;
    const min = bounds ? Number(bounds[1]) : mark === '+' ? 1 : 0;
    const max = bounds ? (bounds[3] !== '' ? Number(bounds[3]) : bounds[2] === '' ? min : Infinity) : mark === '?' ? 1 : Infinity;
    const needed = Array.from({ length: min }, () => item).flat();
    if (max === Infinity) {
      const loop = alternatives.length;
      alternatives.push([[...item, { rule: loop }], []]);
      return [...needed, { rule: loop }];
    }
    let rest: Alternative = [];
    for (let count = min; count < max; count++) rest = [add([[...item, ...rest], []])];
    return [...needed, ...rest];
  }

  function characterClass(): Element {
    at++;
    const isNegated = text[at] === '^';
    if (isNegated) at++;
    const ranges: [number, number][] = [];
    while (text[at] !== ']') {
      const from = character();
      let to = from;
      if (text[at] === '-' && text[at + 1] !== ']') {
        at++;
        to = character();
      }
      ranges.push([from, to]);
    }
    at++;
    return { ranges, isNegated };
  }

  while (at < text.length) {
    if (/\s/.test(text[at] ?? '')) {
      at++;
      continue;
    }
    const head = /^([a-zA-Z][a-zA-Z0-9-]*)[ \t]*::=/.exec(text.slice(at, at + 300));
    if (!head?.[1]) return fail('no rule');
    at += head[0].length;
    const rule = parseNumber(head[1]);
    if (alternatives[rule]) fail('a second rule of this name');
    alternatives[rule] = choice();
    if (text[at] !== '\n' && at < text.length) fail('no end of rule');
  }
  for (const [name, number] of names) if (!alternatives[number]) throw new Error(`${name} is not defined`);
  return { root: names.get('root') ?? fail('no root'), alternatives: alternatives.map((each) => each ?? []) };
}
