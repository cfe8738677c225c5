import { TemplateSyntaxError } from './template-error.ts';
import { decodeStringLiteral } from './string-literal.ts';

export type TokenType =
  | 'text'
  | 'block-start'
  | 'block-end'
  | 'output-start'
  | 'output-end'
  | 'name'
  | 'string'
  | 'integer'
  | 'float'
  | 'operator'
  | 'end';

/** `text` is the decoded value of a string, and the digits of a number. */
export interface Token {
  readonly type: TokenType;
  readonly text: string;
  readonly line: number;
}

/** Python's `\s`, which differs from JavaScript's. */
export const SPACE = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';

const START = new RegExp(
  String.raw`\{%(?<rawSign>[-+]?)[${SPACE}]*raw[${SPACE}]*(?:-%\}[${SPACE}]*|%\})|\{(?<kind>[%#{])(?<sign>[-+]?)`,
  'g',
);
const RAW_END = new RegExp(
  String.raw`\{%(?<sign>[-+]?)[${SPACE}]*endraw[${SPACE}]*(?:\+%\}|-%\}[${SPACE}]*|%\}\n?)`,
  'g',
);
const COMMENT_END = new RegExp(String.raw`(?:\+#\}|-#\}[${SPACE}]*|#\}\n?)`, 'g');
const BLOCK_END = new RegExp(String.raw`\+%\}|-%\}[${SPACE}]*|%\}\n?`, 'y');
const OUTPUT_END = new RegExp(String.raw`-\}\}[${SPACE}]*|\}\}`, 'y');
const SPACES = new RegExp(`[${SPACE}]+`, 'y');
const FLOAT = /(?<!\.)(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?e[+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)/iy;
const INTEGER = /0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*/iy;
const NAME = /[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}]*/uy;
const STRING = /'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*"/sy;
const OPERATOR = /\/\/|\*\*|==|!=|>=|<=|[-+/*%~[\](){}><=.:|,;]/y;

const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

const TRAILING_SPACE = new RegExp(`[${SPACE}]+$`);
const ONLY_SPACE = new RegExp(`^[${SPACE}]+$`);

/**
 * Splits a template into tokens as jinja2 does with `trim_blocks` and `lstrip_blocks`: the line break after a block tag
 * and the blanks before one at the start of a line are no text, nor is the last line break of the source.
 *
 * @throws TemplateSyntaxError
 */
export function tokenize(source: string): Token[] {
  const text = source.replace(/\r\n?/g, '\n').replace(/\n$/, '');
  return new Lexer(text).run();
}

class Lexer {
  readonly #source: string;
  readonly #tokens: Token[] = [];
  #position = 0;
  #line = 1;
  #lineUntil = 0;
  /** Whether the last tag ended a line, so that blanks may follow before a block tag on the next one. */
  #startsLine = true;

  constructor(source: string) {
    this.#source = source;
  }

  run(): Token[] {
    const source = this.#source;
    while (this.#position < source.length) {
      const from = this.#position;
      const match = search(START, source, from);
      if (!match) {
        this.#push('text', source.slice(from), from);
        break;
      }
      const { rawSign, kind, sign = '' } = match.groups ?? {};
      this.#pushText(source.slice(from, match.index), from, rawSign ?? sign, kind === '{');
      this.#position = match.index + match[0].length;
      if (rawSign !== undefined) this.#skipRaw();
      else if (kind === '#') this.#skipComment();
      else this.#readTag(kind === '{', match.index);
      this.#startsLine = source[this.#position - 1] === '\n';
    }
    this.#push('end', '', source.length);
    return this.#tokens;
  }

  #pushText(text: string, at: number, sign: string, isOutput: boolean): void {
    let stripped = text;
    if (sign === '-') stripped = text.replace(TRAILING_SPACE, '');
    else if (sign !== '+' && !isOutput) {
      const lineStart = text.lastIndexOf('\n') + 1;
      if ((lineStart > 0 || this.#startsLine) && ONLY_SPACE.test(text.slice(lineStart)))
        stripped = text.slice(0, lineStart);
    }
    this.#push('text', stripped, at);
  }

  #skipRaw(): void {
    const from = this.#position;
    const end = search(RAW_END, this.#source, from);
    if (!end) throw new TemplateSyntaxError('missing end of raw directive', this.#lineAt(from));
    this.#pushText(this.#source.slice(from, end.index), from, end.groups?.['sign'] ?? '', false);
    this.#position = end.index + end[0].length;
  }

  #skipComment(): void {
    const end = search(COMMENT_END, this.#source, this.#position);
    if (!end) throw new TemplateSyntaxError('missing end of comment tag', this.#lineAt(this.#position));
    this.#position = end.index + end[0].length;
  }

  /** Reads the tokens up to the tag's end, which does not count inside brackets. */
  #readTag(isOutput: boolean, start: number): void {
    this.#push(isOutput ? 'output-start' : 'block-start', '', start);
    const end = isOutput ? OUTPUT_END : BLOCK_END;
    const brackets: string[] = [];
    while (this.#position < this.#source.length) {
      const at = this.#position;
      if (brackets.length === 0 && this.#match(end) !== undefined) {
        this.#push(isOutput ? 'output-end' : 'block-end', '', at);
        return;
      }
      if (this.#match(SPACES) === undefined) this.#readToken(at, brackets);
    }
    throw new TemplateSyntaxError('unexpected end of template', this.#lineAt(start));
  }

  #readToken(at: number, brackets: string[]): void {
    const float = this.#match(FLOAT);
    if (float !== undefined) return this.#push('float', float.replaceAll('_', ''), at);
    const integer = this.#match(INTEGER);
    if (integer !== undefined) return this.#push('integer', integer.replaceAll('_', ''), at);
    const name = this.#match(NAME);
    if (name !== undefined) return this.#push('name', name, at);
    const string = this.#match(STRING);
    if (string !== undefined) return this.#push('string', decodeStringLiteral(string.slice(1, -1)), at);
    const operator = this.#match(OPERATOR);
    if (operator === undefined)
      throw new TemplateSyntaxError(`unexpected character '${this.#source.charAt(at)}'`, this.#lineAt(at));
    const closing = CLOSING[operator];
    if (closing !== undefined) brackets.push(closing);
    else if (')]}'.includes(operator) && brackets.pop() !== operator)
      throw new TemplateSyntaxError(`unexpected '${operator}'`, this.#lineAt(at));
    this.#push('operator', operator, at);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#position;
    const match = pattern.exec(this.#source)?.[0];
    if (match !== undefined) this.#position += match.length;
    return match;
  }

  #push(type: TokenType, text: string, at: number): void {
    if (type !== 'text' || text !== '') this.#tokens.push({ type, text, line: this.#lineAt(at) });
  }

  /** Positions are read in ascending order, so that each line break is counted once. */
  #lineAt(position: number): number {
    for (; this.#lineUntil < position; this.#lineUntil++) if (this.#source[this.#lineUntil] === '\n') this.#line++;
    return this.#line;
  }
}

function search(pattern: RegExp, source: string, from: number): RegExpExecArray | null {
  pattern.lastIndex = from;
  return pattern.exec(source);
}
