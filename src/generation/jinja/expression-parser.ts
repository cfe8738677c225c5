import type { BinaryOperator, CallArguments, CompareOperator, Expression } from './ast.ts';
import type { TokenStream } from './token-stream.ts';

const COMPARISONS: Readonly<Record<string, CompareOperator>> = {
  '==': '==',
  '!=': '!=',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
};
const SUMS: Readonly<Record<string, BinaryOperator>> = { '+': '+', '-': '-' };
const PRODUCTS: Readonly<Record<string, BinaryOperator>> = { '*': '*', '/': '/', '//': '//', '%': '%' };
const POWERS: Readonly<Record<string, BinaryOperator>> = { '**': '**' };

const CONSTANTS: Readonly<Record<string, boolean | null>> = {
  true: true,
  True: true,
  false: false,
  False: false,
  none: null,
  None: null,
};

export const NO_ARGUMENTS: CallArguments = { positional: [], keyword: [], spread: undefined, keywordSpread: undefined };

/** Parses an expression with jinja2's precedence. `tokens` ends behind it. */
export function parseExpression(tokens: TokenStream, allowCondition = true): Expression {
  return tokens.nest(() => (allowCondition ? parseCondition(tokens) : parseOr(tokens)));
}

/** Parses an expression, or a tuple without parentheses. `isEnd` tells what ends the tuple besides the tag. */
export function parseTuple(
  tokens: TokenStream,
  { allowCondition = true, isEnd = () => false }: { allowCondition?: boolean; isEnd?: () => boolean } = {},
): Expression {
  const items: Expression[] = [];
  let isTuple = false;
  while (!tokens.is('block-end') && !tokens.is('output-end') && !tokens.isOperator(')') && !isEnd()) {
    items.push(parseExpression(tokens, allowCondition));
    if (!tokens.skipOperator(',')) break;
    isTuple = true;
  }
  const [first] = items;
  if (isTuple) return { type: 'tuple', items };
  return first ?? tokens.fail(`expected an expression, got ${tokens.describe()}`);
}

function parseCondition(tokens: TokenStream): Expression {
  let value = parseOr(tokens);
  while (tokens.skipName('if')) {
    const test = parseOr(tokens);
    const otherwise = tokens.skipName('else') ? parseExpression(tokens) : undefined;
    value = { type: 'condition', test, value, otherwise };
  }
  return value;
}

function parseOr(tokens: TokenStream): Expression {
  let left = parseAnd(tokens);
  while (tokens.skipName('or')) left = { type: 'or', left, right: parseAnd(tokens) };
  return left;
}

function parseAnd(tokens: TokenStream): Expression {
  let left = parseNot(tokens);
  while (tokens.skipName('and')) left = { type: 'and', left, right: parseNot(tokens) };
  return left;
}

function parseNot(tokens: TokenStream): Expression {
  if (!tokens.skipName('not')) return parseCompare(tokens);
  return { type: 'not', value: tokens.nest(() => parseNot(tokens)) };
}

function parseCompare(tokens: TokenStream): Expression {
  const first = parseSum(tokens);
  const others: [CompareOperator, Expression][] = [];
  for (let operator = readComparison(tokens); operator; operator = readComparison(tokens))
    others.push([operator, parseSum(tokens)]);
  return others.length > 0 ? { type: 'compare', first, others } : first;
}

function readComparison(tokens: TokenStream): CompareOperator | undefined {
  if (tokens.skipName('in')) return 'in';
  const { type, text } = tokens.look(1);
  if (tokens.isName('not') && type === 'name' && text === 'in') {
    tokens.next();
    tokens.next();
    return 'not in';
  }
  return tokens.isOperator() ? readOperator(tokens, COMPARISONS) : undefined;
}

function readOperator<T>(tokens: TokenStream, operators: Readonly<Record<string, T>>): T | undefined {
  const operator = tokens.isOperator() ? operators[tokens.current.text] : undefined;
  if (operator !== undefined) tokens.next();
  return operator;
}

/** Parses operands with operators of the same precedence; all are left-associative, also `**`. */
function parseBinary(
  tokens: TokenStream,
  operators: Readonly<Record<string, BinaryOperator>>,
  parseOperand: (tokens: TokenStream) => Expression,
): Expression {
  let left = parseOperand(tokens);
  for (let operator = readOperator(tokens, operators); operator; operator = readOperator(tokens, operators))
    left = { type: 'binary', operator, left, right: parseOperand(tokens) };
  return left;
}

const parseSum = (tokens: TokenStream): Expression => parseBinary(tokens, SUMS, parseConcat);
const parseProduct = (tokens: TokenStream): Expression => parseBinary(tokens, PRODUCTS, parsePower);
const parsePower = (tokens: TokenStream): Expression => parseBinary(tokens, POWERS, parseUnary);

function parseConcat(tokens: TokenStream): Expression {
  const first = parseProduct(tokens);
  const items = [first];
  while (tokens.skipOperator('~')) items.push(parseProduct(tokens));
  return items.length > 1 ? { type: 'concat', items } : first;
}

function parseUnary(tokens: TokenStream, allowFilter: unknown = true): Expression {
  const sign = readOperator(tokens, { '-': 'negative', '+': 'positive' } as const);
  const value: Expression =
    sign === undefined ? parsePrimary(tokens) : { type: sign, value: tokens.nest(() => parseUnary(tokens, false)) };
  const postfix = parsePostfix(tokens, value);
  return allowFilter === false ? postfix : parseFiltersAndTests(tokens, postfix);
}

/** Parses a name, a literal or an expression in brackets. */
function parsePrimary(tokens: TokenStream): Expression {
  const { type, text } = tokens.current;
  if (type === 'name') {
    tokens.next();
    const constant = Object.hasOwn(CONSTANTS, text) ? CONSTANTS[text] : undefined;
    return constant === undefined ? { type: 'name', name: text } : { type: 'constant', value: constant };
  }
  if (type === 'string') {
    let value = '';
    while (tokens.is('string')) value += tokens.next().text;
    return { type: 'constant', value };
  }
  if (type === 'integer' || type === 'float') {
    tokens.next();
    return { type, value: Number(text) };
  }
  if (tokens.skipOperator('(')) return parseParentheses(tokens);
  if (tokens.skipOperator('[')) return { type: 'list', items: parseItems(tokens, ']', parseExpression) };
  if (tokens.skipOperator('{')) return { type: 'dict', items: parseItems(tokens, '}', parsePair) };
  return tokens.fail(`unexpected ${tokens.describe()}`);
}

function parseParentheses(tokens: TokenStream): Expression {
  if (tokens.skipOperator(')')) return { type: 'tuple', items: [] };
  const value = parseTuple(tokens);
  tokens.expect('operator', ')');
  return value;
}

function parsePair(tokens: TokenStream): readonly [Expression, Expression] {
  const key = parseExpression(tokens);
  tokens.expect('operator', ':');
  return [key, parseExpression(tokens)];
}

/** Parses items with commas between them, and perhaps one behind the last. */
function parseItems<T>(tokens: TokenStream, end: string, parseItem: (tokens: TokenStream) => T): T[] {
  const items: T[] = [];
  while (!tokens.skipOperator(end)) {
    if (items.length > 0) {
      tokens.expect('operator', ',');
      if (tokens.skipOperator(end)) break;
    }
    items.push(parseItem(tokens));
  }
  return items;
}

function parsePostfix(tokens: TokenStream, start: Expression): Expression {
  let value = start;
  for (;;) {
    if (tokens.isOperator('(')) value = { type: 'call', callee: value, args: parseCallArguments(tokens) };
    else if (tokens.skipOperator('.')) value = parseAttribute(tokens, value);
    else if (tokens.skipOperator('[')) value = parseItem(tokens, value);
    else return value;
  }
}

function parseAttribute(tokens: TokenStream, object: Expression): Expression {
  const { type, text } = tokens.next();
  if (type === 'name') return { type: 'attribute', object, name: text };
  if (type === 'integer') return { type: 'item', object, key: { type: 'integer', value: Number(text) } };
  return tokens.fail('expected name or number');
}

function parseItem(tokens: TokenStream, object: Expression): Expression {
  const keys = parseItems(tokens, ']', parseSubscript);
  const [first] = keys;
  return { type: 'item', object, key: keys.length === 1 && first ? first : { type: 'tuple', items: keys } };
}

function parseSubscript(tokens: TokenStream): Expression {
  const parts: (Expression | undefined)[] = [undefined];
  if (!tokens.isOperator(':')) parts[0] = parseExpression(tokens);
  while (parts.length < 3 && tokens.skipOperator(':'))
    parts.push(tokens.isOperator(':', ']', ',') ? undefined : parseExpression(tokens));
  const [first] = parts;
  return parts.length === 1 && first ? first : { type: 'slice', parts };
}

/** Parses the arguments of a call. `tokens` starts at the opening parenthesis. */
function parseCallArguments(tokens: TokenStream): CallArguments {
  tokens.expect('operator', '(');
  const positional: Expression[] = [];
  const keyword: [string, Expression][] = [];
  let spread: Expression | undefined;
  let keywordSpread: Expression | undefined;
  const require = (isValid: boolean): void => {
    if (!isValid) tokens.fail('invalid syntax for function call expression');
  };
  parseItems(tokens, ')', () => {
    const { type, text } = tokens.look(1);
    if (tokens.skipOperator('*')) {
      require(!spread && !keywordSpread);
      spread = parseExpression(tokens);
    } else if (tokens.skipOperator('**')) {
      require(!keywordSpread);
      keywordSpread = parseExpression(tokens);
    } else if (tokens.isName() && type === 'operator' && text === '=') {
      require(!keywordSpread);
      const name = tokens.next().text;
      tokens.next();
      keyword.push([name, parseExpression(tokens)]);
    } else {
      require(!spread && !keywordSpread && keyword.length === 0);
      positional.push(parseExpression(tokens));
    }
  });
  return { positional, keyword, spread, keywordSpread };
}

function parseFiltersAndTests(tokens: TokenStream, start: Expression): Expression {
  let value = start;
  for (;;) {
    if (tokens.skipOperator('|')) value = parseFilter(tokens, value);
    else if (tokens.skipName('is')) value = parseTest(tokens, value);
    else if (tokens.isOperator('(')) value = { type: 'call', callee: value, args: parseCallArguments(tokens) };
    else return value;
  }
}

/** Parses a filter behind its `|`. */
export function parseFilter(tokens: TokenStream, value: Expression | undefined): Expression {
  const name = readDottedName(tokens);
  const args = tokens.isOperator('(') ? parseCallArguments(tokens) : NO_ARGUMENTS;
  return { type: 'filter', name, value, args };
}

function readDottedName(tokens: TokenStream): string {
  let name = tokens.expect('name').text;
  while (tokens.skipOperator('.')) name += `.${tokens.expect('name').text}`;
  return name;
}

function parseTest(tokens: TokenStream, value: Expression): Expression {
  const isNegated = tokens.skipName('not');
  const name = readDottedName(tokens);
  const test: Expression = { type: 'test', name, value, args: parseTestArguments(tokens) };
  return isNegated ? { type: 'not', value: test } : test;
}

/** A test may have one argument without parentheses. */
function parseTestArguments(tokens: TokenStream): CallArguments {
  if (tokens.isOperator('(')) return parseCallArguments(tokens);
  const startsArgument =
    tokens.is('name') ||
    tokens.is('string') ||
    tokens.is('integer') ||
    tokens.is('float') ||
    tokens.isOperator('[', '{');
  if (!startsArgument || tokens.isName('else', 'or', 'and')) return NO_ARGUMENTS;
  if (tokens.isName('is')) tokens.fail('You cannot chain multiple tests with is');
  return { ...NO_ARGUMENTS, positional: [parsePostfix(tokens, parsePrimary(tokens))] };
}
