import { isCode, type Rule, type Tree } from './tree.ts';

const GLOSSARY = 'docs/glossary.md';

/** The third column of the glossary's table: words that the term replaces, each in backticks. */
const ROW = /^\| ([^|`]+) \| [^|]+ \| ([^|]+) \|$/;

/** A row of the table of names that stay: a word, and the folder or file that reads or writes it. */
const KEPT_ROW = /^\| `(\w+)` \| `([\w./-]+)` \| [^|]+ \|$/;

interface BannedWord {
  /** The words of the banned name in lower case: `goOn` is `go`, `on`. */
  readonly words: readonly string[];
  /** Written with a capital: banned in names of types only. */
  readonly isTypeName: boolean;
  readonly insteadOf: string;
  readonly term: string;
}

export const bannedWords: Rule = {
  name: 'no identifier has a word that the glossary replaces',
  *check(tree) {
    const banned = readBannedWords(tree);
    const findBanned = (name: string, isType = false): BannedWord | undefined => {
      const words = splitName(name);
      return banned.find((entry) => (isType || !entry.isTypeName) && includesSequence(words, entry.words));
    };
    for (const path of tree.keys()) {
      if (!isChecked(path)) continue;
      const found = findBanned(path);
      if (found) yield { path, line: 1, message: `the path has the word ${found.insteadOf}; say ${found.term}` };
    }
    const kept = readKeptNames(tree);
    // Most names occur in many files.
    const [foundByName, foundByTypeName] = [
      new Map<string, BannedWord | undefined>(),
      new Map<string, BannedWord | undefined>(),
    ];
    for (const { path, line, name, isType } of findIdentifiers(tree)) {
      const known = isType ? foundByTypeName : foundByName;
      if (!known.has(name)) known.set(name, findBanned(name, isType));
      const found = known.get(name);
      if (!found || kept.some(({ word, prefix }) => word === name && path.startsWith(prefix))) continue;
      yield { path, line, message: `${name} has the word ${found.insteadOf}; say ${found.term}` };
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

/** Names that say neither what a function does nor to what. */
const BARE_NAME = /^(?:say|tell|heed|every|present|within|near|after|before|until|goOn)$/;

/** Accessors such as `textOf`; the names of the language and of JSON Schema end so, too. */
const ACCESSOR_NAME =
  /^(?!(?:lastI|i)ndexOf|valueOf|instanceOf|(?:set|get|is)PrototypeOf|multipleOf|(?:any|one|all|not|instead)Of)[a-z]\w*[a-z]Of$/;

const DECLARATION = /^\s*(?:export )?(?:async )?(?:const|let|function\*?) (\w+)|^export .*\b(?:const|function) (\w+)/;

export const descriptiveNames: Rule = {
  name: 'a function is named by a verb and its object',
  *check(tree) {
    for (const { path, lines } of tree.values()) {
      if (!isChecked(path) || !isCode(path)) continue;
      for (const [index, text] of lines.entries()) {
        const [, declared, exported] = DECLARATION.exec(text) ?? [];
        const name = declared ?? exported ?? '';
        const isBare = text.startsWith('export ') && BARE_NAME.test(name) && path !== 'test/until.ts';
        if (isBare || ACCESSOR_NAME.test(name)) {
          yield { path, line: index + 1, message: `${name} names no action; begin with a verb such as get or parse` };
        }
      }
    }
  },
};

export function readBannedWords(tree: Tree): readonly BannedWord[] {
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

const isChecked = (path: string): boolean => /^(src|test|bench|scripts|bin|examples)\//.test(path);

function readKeptNames(tree: Tree): readonly { readonly word: string; readonly prefix: string }[] {
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

function* findIdentifiers(tree: Tree): Generator<{ path: string; line: number; name: string; isType: boolean }> {
  for (const { path, lines } of tree.values()) {
    if (!isCode(path) || !isChecked(path)) continue;
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
    if (token.length > 1 && token.includes('\n')) for (const _ of token.matchAll(/\n/g)) yield '\n';
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
