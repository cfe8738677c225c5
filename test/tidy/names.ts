import { isCode, type Rule, type Tree } from './tree.ts';

const GLOSSARY = 'docs/glossary.md';

/** The third column of the glossary's table: words that the term replaces, each in backticks. */
const ROW = /^\| ([^|`]+) \| [^|]+ \| ([^|]+) \|$/;

/** A row of the table of names that stay: a word, and the folder or file that reads or writes it. */
const KEPT_ROW = /^\| `(\w+)` \| `([\w./-]+)` \| [^|]+ \|$/;

interface BannedWord {
  /** The words of the banned name in lower case: `enterPhase` is `go`, `on`. */
  readonly words: readonly string[];
  /** Written with a capital: banned in names of types only. */
  readonly isTypeName: boolean;
  readonly insteadOf: string;
  readonly term: string;
}

export const bannedWords: Rule = {
  name: 'no identifier has a word that the glossary replaces',
  *check(tree) {
    const banned = bannedWordsOf(tree);
    if (banned.length === 0) return;
    const kept = keptNamesOf(tree);
    for (const { path, line, name, isType } of identifiersOf(tree)) {
      if (kept.some(({ word, prefix }) => word === name && path.startsWith(prefix))) continue;
      const words = splitName(name);
      const found = banned.find((entry) => (isType || !entry.isTypeName) && includesSequence(words, entry.words));
      if (found) yield { path, line, message: `${name} has the word ${found.insteadOf}; say ${found.term}` };
    }
  },
};

const EXPORTED_TYPE = /^export (?:declare )?(?:abstract )?(?:interface|type|class) (\w+)/;

export const uniqueTypeNames: Rule = {
  name: 'an exported type name is declared by one module',
  *check(tree) {
    const places = new Map<string, { path: string; line: number }[]>();
    for (const { path, lines } of tree.values()) {
      if (!path.startsWith('src/') || !path.endsWith('.ts')) continue;
      for (const [index, text] of lines.entries()) {
        const name = EXPORTED_TYPE.exec(text)?.[1];
        if (name !== undefined) places.set(name, [...(places.get(name) ?? []), { path, line: index + 1 }]);
      }
    }
    for (const [name, [first, ...others]] of places) {
      for (const other of others) yield { ...other, message: `${name} is also the name of a type in ${first?.path}` };
    }
  },
};

function bannedWordsOf(tree: Tree): readonly BannedWord[] {
  return (tree.get(GLOSSARY)?.lines ?? []).flatMap((line) => {
    const [, term = '', replaced = ''] = ROW.exec(line) ?? [];
    return [...replaced.matchAll(/`(\w+)`/g)].map(([, insteadOf = '']) => ({
      words: splitName(insteadOf),
      isTypeName: /^[A-Z]/.test(insteadOf),
      insteadOf,
      term,
    }));
  });
}

function keptNamesOf(tree: Tree): readonly { readonly word: string; readonly prefix: string }[] {
  return (tree.get(GLOSSARY)?.lines ?? []).flatMap((line) => {
    const [, word, prefix] = KEPT_ROW.exec(line) ?? [];
    return word === undefined || prefix === undefined ? [] : [{ word, prefix }];
  });
}

/** The words of a name in lower case: `readURLParts` is `read`, `url`, `parts`. */
function splitName(name: string): readonly string[] {
  return (name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g) ?? []).map((word) => word.toLowerCase());
}

function includesSequence(words: readonly string[], sequence: readonly string[]): boolean {
  return words.some((_, at) => sequence.every((word, offset) => words[at + offset] === word));
}

/** A string, a template, a comment, a regular expression after an operator, or an identifier. */
const TOKEN =
  /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|\/\*[\s\S]*?\*\/|\/\/[^\n]*|(?<=[(,=:[!&|?{};>\s]\s*)\/(?![*/\s])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*|[A-Za-z_$][\w$]*|[`{}]|\n/g;

function* identifiersOf(tree: Tree): Generator<{ path: string; line: number; name: string; isType: boolean }> {
  for (const { path, lines } of tree.values()) {
    if (!isCode(path) || !/^(src|test|bench|scripts)\//.test(path) || path.includes('/__fixtures__/')) continue;
    const types = new Set(lines.map((text) => EXPORTED_TYPE.exec(text)?.[1]));
    let line = 1;
    const seen = new Set<string>();
    for (const token of codeTokens(lines.join('\n'))) {
      if (token === '\n') line++;
      else if (!seen.has(token)) {
        seen.add(token);
        yield { path, line, name: token, isType: types.has(token) };
      }
    }
  }
}

/** Identifiers and line breaks of a source text; what stands in strings, comments and the text of templates is left out. */
function* codeTokens(text: string): Generator<string> {
  // Depth of braces at which each open template goes on.
  const templates: number[] = [];
  let depth = 0;
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(text); match; match = TOKEN.exec(text)) {
    const [token] = match;
    for (const _ of token === '\n' ? [] : token.matchAll(/\n/g)) yield '\n';
    const endsExpression = token === '}' && templates.at(-1) === depth;
    if (token === '`' || endsExpression) {
      if (endsExpression) templates.pop();
      const [breaks, at, opens] = skipTemplate(text, TOKEN.lastIndex);
      for (let count = 0; count < breaks; count++) yield '\n';
      TOKEN.lastIndex = at;
      if (opens) templates.push(depth);
      continue;
    }
    if (token === '{') depth++;
    else if (token === '}') depth--;
    else if (token === '\n' || /^[A-Za-z_$]/.test(token)) yield token;
  }
}

/** @returns line breaks passed, where the code goes on, and whether an expression `${` opened there. */
function skipTemplate(text: string, from: number): readonly [number, number, boolean] {
  let breaks = 0;
  for (let at = from; at < text.length; at++) {
    const character = text[at];
    if (character === '\\') at++;
    else if (character === '\n') breaks++;
    else if (character === '`') return [breaks, at + 1, false];
    else if (character === '$' && text[at + 1] === '{') return [breaks, at + 2, true];
  }
  return [breaks, text.length, false];
}
