import type { Token, TokenType } from './lexer.ts';
import { PARSE_DEPTH_MAX } from './limits.ts';
import { TemplateSyntaxError } from './template-error.ts';

/** The tokens of a template, read one after the other. */
export class TokenStream {
  readonly #tokens: readonly Token[];
  #index = 0;
  #depth = 0;

  /** @param tokens End with a token of the type `end`. */
  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get current(): Token {
    return this.look(0);
  }

  /** Returns a later token, or the last one. */
  look(offset: number): Token {
    const token = this.#tokens[this.#index + offset] ?? this.#tokens.at(-1);
    if (!token) throw new TemplateSyntaxError('no tokens', 1);
    return token;
  }

  next(): Token {
    const token = this.current;
    this.#index++;
    return token;
  }

  is(type: TokenType, ...texts: readonly string[]): boolean {
    const { current } = this;
    return current.type === type && (texts.length === 0 || texts.includes(current.text));
  }

  isOperator(...texts: readonly string[]): boolean {
    return this.is('operator', ...texts);
  }

  isName(...texts: readonly string[]): boolean {
    return this.is('name', ...texts);
  }

  /** Reads the token when it is the given one. */
  skip(type: TokenType, text: string): boolean {
    const isNext = this.is(type, text);
    if (isNext) this.#index++;
    return isNext;
  }

  skipOperator(text: string): boolean {
    return this.skip('operator', text);
  }

  skipName(text: string): boolean {
    return this.skip('name', text);
  }

  expect(type: TokenType, text?: string): Token {
    if (!this.is(type, ...(text === undefined ? [] : [text])))
      this.fail(`expected '${text ?? type}', got ${this.describe()}`);
    return this.next();
  }

  describe(): string {
    const { type, text } = this.current;
    return text === '' || type === 'text' ? type.replace('-', ' ') : `'${text}'`;
  }

  fail(message: string): never {
    throw new TemplateSyntaxError(message, this.current.line);
  }

  /** Parses one level deeper; too deep a template would overflow the stack when it is rendered. */
  nest<T>(parse: () => T): T {
    if (++this.#depth > PARSE_DEPTH_MAX) this.fail(`nested more than ${PARSE_DEPTH_MAX} levels deep`);
    const result = parse();
    this.#depth--;
    return result;
  }
}
