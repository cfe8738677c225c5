import type { Body, Expression, ForStatement, Signature, Statement, Target } from './ast.ts';
import { parseExpression, parseFilter, parseTuple } from './expression-parser.ts';
import { tokenize } from './lexer.ts';
import { TokenStream } from './token-stream.ts';

/**
 * Parses a template with jinja2's grammar, the loop controls and the `generation` tag. There is nothing to include,
 * import or extend.
 *
 * @throws TemplateSyntaxError
 */
export function parseTemplate(source: string): Body {
  const tokens = new TokenStream(tokenize(source));
  const body = parseBody(tokens, []);
  return tokens.is('end') ? body : tokens.fail(`unexpected ${tokens.describe()}`);
}

/** Parses statements up to a tag with one of the names, which is the next token then. */
function parseBody(tokens: TokenStream, ends: readonly string[]): Body {
  const body: Statement[] = [];
  for (;;) {
    if (tokens.is('text')) body.push({ type: 'text', text: tokens.next().text });
    else if (tokens.is('output-start')) {
      tokens.next();
      body.push({ type: 'output', value: parseTuple(tokens) });
      tokens.expect('output-end');
    } else if (tokens.is('block-start')) {
      tokens.next();
      if (tokens.isName(...ends) && ends.length > 0) return body;
      body.push(tokens.nest(() => parseStatement(tokens)));
      tokens.expect('block-end');
    } else {
      if (ends.length > 0) tokens.fail(`unexpected end of template, expected '${ends.join("' or '")}'`);
      return body;
    }
  }
}

/** Parses the statements of a tag up to its end tag. The tag's own end is the next token. */
function parseBlock(tokens: TokenStream, end: string): Body {
  tokens.expect('block-end');
  const body = parseBody(tokens, [end]);
  tokens.next();
  return body;
}

const STATEMENTS: Readonly<Record<string, (tokens: TokenStream) => Statement>> = {
  if: parseIf,
  for: parseFor,
  set: parseSet,
  macro: (tokens) => ({
    type: 'macro',
    name: tokens.expect('name').text,
    signature: parseSignature(tokens),
    body: parseBlock(tokens, 'endmacro'),
  }),
  call: parseCallBlock,
  filter: (tokens) => ({
    type: 'filter-block',
    filter: parseFilters(tokens, parseFilter(tokens, undefined)),
    body: parseBlock(tokens, 'endfilter'),
  }),
  with: parseWith,
  generation: (tokens) => ({ type: 'scope', body: parseBlock(tokens, 'endgeneration') }),
  print: (tokens) => ({ type: 'output', value: parseTuple(tokens) }),
  break: () => ({ type: 'break' }),
  continue: () => ({ type: 'continue' }),
};

function parseStatement(tokens: TokenStream): Statement {
  const { type, text } = tokens.current;
  const parse = type === 'name' && Object.hasOwn(STATEMENTS, text) ? STATEMENTS[text] : undefined;
  if (!parse) return tokens.fail(`unknown tag ${tokens.describe()}`);
  tokens.next();
  return parse(tokens);
}

function parseIf(tokens: TokenStream): Statement {
  const branches: { test: Expression; body: Body }[] = [];
  for (;;) {
    const test = parseTuple(tokens, { allowCondition: false });
    tokens.expect('block-end');
    branches.push({ test, body: parseBody(tokens, ['elif', 'else', 'endif']) });
    const { text } = tokens.next();
    if (text === 'elif') continue;
    return { type: 'if', branches, otherwise: text === 'else' ? parseBlock(tokens, 'endif') : [] };
  }
}

function parseFor(tokens: TokenStream): ForStatement {
  const target = parseTarget(tokens, () => tokens.isName('in'));
  tokens.expect('name', 'in');
  const iterable = parseTuple(tokens, { allowCondition: false, isEnd: () => tokens.isName('recursive') });
  const filter = tokens.skipName('if') ? parseExpression(tokens) : undefined;
  const isRecursive = tokens.skipName('recursive');
  tokens.expect('block-end');
  const body = parseBody(tokens, ['endfor', 'else']);
  const otherwise = tokens.next().text === 'else' ? parseBlock(tokens, 'endfor') : [];
  return { type: 'for', target, iterable, filter, isRecursive, body, otherwise };
}

function parseSet(tokens: TokenStream): Statement {
  const target = parseTarget(tokens, () => false, true);
  if (tokens.skipOperator('=')) return { type: 'set', target, value: parseTuple(tokens) };
  const filter = parseFilters(tokens, undefined);
  return { type: 'set-block', target, filter, body: parseBlock(tokens, 'endset') };
}

function parseFilters(tokens: TokenStream, start: Expression): Expression;
function parseFilters(tokens: TokenStream, start: Expression | undefined): Expression | undefined;
function parseFilters(tokens: TokenStream, start: Expression | undefined): Expression | undefined {
  let filter = start;
  while (tokens.skipOperator('|')) filter = parseFilter(tokens, filter);
  return filter;
}

function parseCallBlock(tokens: TokenStream): Statement {
  const signature = tokens.isOperator('(') ? parseSignature(tokens) : [];
  const call = parseExpression(tokens);
  if (call.type !== 'call') return tokens.fail('expected call');
  return { type: 'call-block', signature, call, body: parseBlock(tokens, 'endcall') };
}

function parseWith(tokens: TokenStream): Statement {
  const assignments: [Target, Expression][] = [];
  while (!tokens.is('block-end')) {
    if (assignments.length > 0) tokens.expect('operator', ',');
    const target = parseTarget(tokens, () => false);
    tokens.expect('operator', '=');
    assignments.push([target, parseExpression(tokens)]);
  }
  return { type: 'with', assignments, body: parseBlock(tokens, 'endwith') };
}

function parseSignature(tokens: TokenStream): Signature {
  const parameters: { name: string; fallback: Expression | undefined }[] = [];
  tokens.expect('operator', '(');
  while (!tokens.skipOperator(')')) {
    if (parameters.length > 0) tokens.expect('operator', ',');
    const name = parseTargetName(tokens);
    const fallback = tokens.skipOperator('=') ? parseExpression(tokens) : undefined;
    if (!fallback && parameters.at(-1)?.fallback) tokens.fail('non-default argument follows default argument');
    parameters.push({ name, fallback });
  }
  return parameters;
}

function parseTargetName(tokens: TokenStream): string {
  const { text } = tokens.expect('name');
  if (/^(?:true|false|none)$/i.test(text) && text !== text.toUpperCase()) tokens.fail(`can't assign to '${text}'`);
  return text;
}

/** Parses a name, or several with commas between them. */
function parseTarget(tokens: TokenStream, isEnd: () => boolean, allowMember = false): Target {
  const items: Target[] = [];
  let isTuple = false;
  while (!tokens.isOperator('=', ')') && !tokens.is('block-end') && !isEnd()) {
    items.push(parseSingleTarget(tokens, allowMember));
    if (!tokens.skipOperator(',')) break;
    isTuple = true;
  }
  const [first] = items;
  return !isTuple && first ? first : items.length > 0 ? { type: 'tuple', items } : tokens.fail('expected a name');
}

function parseSingleTarget(tokens: TokenStream, allowMember: boolean): Target {
  if (tokens.skipOperator('(')) {
    const target = tokens.nest(() => parseTarget(tokens, () => false, allowMember));
    tokens.expect('operator', ')');
    return target;
  }
  const name = parseTargetName(tokens);
  if (!allowMember || !tokens.skipOperator('.')) return { type: 'name', name };
  return { type: 'member', namespace: name, name: tokens.expect('name').text };
}
