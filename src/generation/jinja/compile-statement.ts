import type { Body, Signature, Statement, Target } from './ast.ts';
import { call, compileArguments, compileExpression, type Evaluate } from './compile-expression.ts';
import { Dict } from './dict.ts';
import { isTrue, toList } from './iterate.ts';
import { Loop } from './loop.ts';
import type { Scope } from './scope.ts';
import { TemplateError } from './template-error.ts';
import { toText } from './text.ts';
import {
  orElse,
  Callable,
  Generator,
  Namespace,
  Tuple,
  typeError,
  Undefined,
  type KeywordArguments,
  type NativeFunction,
  type Value,
} from './values.ts';
import { iterate } from './iterate.ts';

/** The text that a body writes. */
class Output {
  text = '';
}

type Signal = 'break' | 'continue' | undefined;
type Execute = (scope: Scope, output: Output) => Signal;

/** Compiles the statements of a template to a function that returns the rendered text. */
export function compileBody(body: Body): (scope: Scope) => string {
  const run = compileStatements(body);
  return (scope) => {
    const output = new Output();
    run(scope, output);
    return output.text;
  };
}

function compileStatements(body: Body): Execute {
  const statements = body.map(compileStatement);
  return (scope, output) => {
    for (const run of statements) {
      scope.rendering.spend(1);
      const signal = run(scope, output);
      if (signal !== undefined) return signal;
    }
    return undefined;
  };
}

function write(scope: Scope, output: Output, text: string): undefined {
  output.text += text;
  scope.rendering.spendChars(text.length);
  if (output.text.length > text.length) scope.rendering.checkChars(output.text.length);
}

function compileStatement(statement: Statement): Execute {
  switch (statement.type) {
    case 'text':
      return (scope, output) => write(scope, output, statement.text);
    case 'output': {
      const value = compileExpression(statement.value);
      return (scope, output) => write(scope, output, toText(scope.rendering, value(scope)));
    }
    case 'if':
      return compileIf(statement);
    case 'for':
      return compileFor(statement);
    case 'break':
    case 'continue':
      return () => statement.type;
    case 'set': {
      const [assign, value] = [compileTarget(statement.target), compileExpression(statement.value)];
      return (scope) => assign(scope, value(scope));
    }
    case 'set-block': {
      const assign = compileTarget(statement.target);
      const value = compileFiltered(statement.filter, statement.body);
      return (scope) => assign(scope, value(scope));
    }
    case 'filter-block': {
      const value = compileFiltered(statement.filter, statement.body);
      return (scope, output) => write(scope, output, toText(scope.rendering, value(scope)));
    }
    case 'macro': {
      const create = compileMacro(statement.name, statement.signature, statement.body);
      return (scope) => {
        scope.set(statement.name, create(scope));
        return undefined;
      };
    }
    case 'call-block': {
      const create = compileMacro('caller', statement.signature, statement.body);
      const callee = compileExpression(statement.call.callee);
      const args = compileArguments(statement.call.args, compileExpression);
      return (scope, output) => {
        const values = args(scope);
        values.keyword.set('caller', create(scope));
        return write(scope, output, toText(scope.rendering, call(scope, callee(scope), values)));
      };
    }
    case 'with': {
      const assignments = statement.assignments.map(
        ([target, value]) => [compileTarget(target), compileExpression(value)] as const,
      );
      const run = compileStatements(statement.body);
      return (scope, output) => {
        const inner = scope.createInner();
        for (const [assign, value] of assignments) assign(inner, value(scope));
        return run(inner, output);
      };
    }
    case 'scope': {
      const run = compileStatements(statement.body);
      return (scope, output) => run(scope.createInner(), output);
    }
  }
}

function compileFiltered(filter: Parameters<typeof compileExpression>[0] | undefined, body: Body): Evaluate {
  const render = compileBody(body);
  const text: Evaluate = (scope) => render(scope.createInner());
  return filter ? compileExpression(filter, text) : text;
}

function compileIf({ branches, otherwise }: Statement & { type: 'if' }): Execute {
  const tests = branches.map(({ test, body }) => [compileExpression(test), compileStatements(body)] as const);
  const last = compileStatements(otherwise);
  return (scope, output) => {
    for (const [test, run] of tests) if (isTrue(test(scope))) return run(scope, output);
    return last(scope, output);
  };
}

function compileTarget(target: Target): (scope: Scope, value: Value) => undefined {
  if (target.type === 'name')
    return (scope, value) => {
      scope.set(target.name, value);
    };
  if (target.type === 'member')
    return (scope, value) => {
      const namespace = scope.get(target.namespace);
      if (!(namespace instanceof Namespace))
        throw new TemplateError('TemplateRuntimeError', 'cannot assign attribute on non-namespace object');
      namespace.attributes.set(target.name, value);
    };
  const targets = target.items.map(compileTarget);
  return (scope, value) => {
    const items = toList(scope.rendering, value);
    if (items.length !== targets.length)
      throw new TemplateError(
        'ValueError',
        `${items.length < targets.length ? 'not enough' : 'too many'} values to unpack (expected ${targets.length})`,
      );
    for (const [i, assign] of targets.entries()) assign(scope, items[i] ?? null);
  };
}

function compileFor(statement: Statement & { type: 'for' }): Execute {
  const assign = compileTarget(statement.target);
  const iterable = compileExpression(statement.iterable);
  const filter = statement.filter && compileExpression(statement.filter);
  const body = compileStatements(statement.body);
  const otherwise = compileStatements(statement.otherwise);
  const select = (scope: Scope, source: Value): Value =>
    filter ? new Generator(filterItems(scope, source, assign, filter)) : source;
  const run = (scope: Scope, output: Output, source: Value, depth: number): Signal => {
    const recurse = (inner: Value): Value =>
      scope.rendering.enterCall(() => {
        const nested = new Output();
        run(scope, nested, inner, depth + 1);
        return nested.text;
      });
    const loop = new Loop(scope.rendering, select(scope, source), depth, statement.isRecursive ? recurse : undefined);
    let isEmpty = true;
    for (let item = loop.next(); item !== undefined; item = loop.next()) {
      isEmpty = false;
      scope.rendering.spend(1);
      const inner = scope.createInner();
      inner.set('loop', loop);
      assign(inner, item);
      if (body(inner, output) === 'break') break;
    }
    return isEmpty ? otherwise(scope.createInner(), output) : undefined;
  };
  return (scope, output) => run(scope, output, iterable(scope), 0);
}

function* filterItems(
  scope: Scope,
  source: Value,
  assign: (scope: Scope, value: Value) => undefined,
  filter: Evaluate,
): globalThis.Generator<Value, undefined> {
  const iterator = iterate(source);
  for (let step = iterator.next(); !step.done; step = iterator.next()) {
    scope.rendering.spend(1);
    const inner = scope.createInner();
    assign(inner, step.value);
    if (isTrue(filter(inner))) yield step.value;
  }
}

/** Returns a function that creates the macro in a scope, whose variables it sees. */
function compileMacro(name: string, signature: Signature, body: Body): (scope: Scope) => Callable {
  const render = compileBody(body);
  const parameters = signature.map(({ name: parameter, fallback }) => ({
    name: parameter,
    fallback: fallback && compileExpression(fallback),
  }));
  const source = JSON.stringify(body);
  const uses = (variable: string): boolean => source.includes(`{"type":"name","name":"${variable}"}`);
  const [usesCaller, usesKeyword, usesPositional] = [uses('caller'), uses('kwargs'), uses('varargs')];
  return (scope) => {
    const invoke: NativeFunction = (positional, keyword) =>
      scope.rendering.enterCall(() => {
        const inner = scope.createInner();
        const rest = new Map(keyword);
        for (const [i, parameter] of parameters.entries()) {
          const value = positional[i] === undefined ? rest.get(parameter.name) : positional[i];
          if (positional[i] === undefined) rest.delete(parameter.name);
          inner.set(
            parameter.name,
            orElse(value, () =>
              parameter.fallback
                ? parameter.fallback(inner)
                : new Undefined(`parameter '${parameter.name}' was not provided`),
            ),
          );
        }
        if (usesCaller && !parameters.some((parameter) => parameter.name === 'caller')) {
          inner.set(
            'caller',
            orElse(rest.get('caller'), () => new Undefined('No caller defined')),
          );
          rest.delete('caller');
        }
        setRest(name, inner, rest, positional.slice(parameters.length), { usesKeyword, usesPositional });
        return render(inner);
      });
    return new Callable(name, invoke, 'Macro');
  };
}

function setRest(
  name: string,
  scope: Scope,
  keyword: KeywordArguments,
  positional: readonly Value[],
  { usesKeyword, usesPositional }: { readonly usesKeyword: boolean; readonly usesPositional: boolean },
): void {
  const [first] = keyword.keys();
  if (usesKeyword) scope.set('kwargs', Dict.from(keyword));
  else if (first !== undefined) throw typeError(`macro '${name}' takes no keyword argument '${first}'`);
  if (usesPositional) scope.set('varargs', new Tuple(positional));
  else if (positional.length > 0) throw typeError(`macro '${name}' takes fewer arguments`);
}
