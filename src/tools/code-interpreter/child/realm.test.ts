import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import vm from 'node:vm';
import { createHost } from './host.ts';
import { bootRealm } from './realm.ts';
import type { Host, Interpreter, RealmOptions } from './realm.ts';
import { defineTextCoding } from './text-coding.ts';

const OPTIONS: RealmOptions = {
  hasSnapshot: false,
  isForSnapshot: false,
  wheelNames: [],
  lockInfo: '{}',
  harness: '',
  homeFolder: '/home/user',
  harnessLimits: '{}',
};

/** A realm as main.ts makes it, with an interpreter of which nothing ever comes. */
function openRealm(own: Partial<Host> = {}) {
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, { codeGeneration: { strings: false, wasm: true } });
  const { functions } = createHost({ wake: () => undefined, files: () => undefined });
  const quiet = { note: () => undefined, broken: () => undefined };
  const evaluate = (text: string): unknown => new vm.Script(text).runInContext(context);
  evaluate(`(${defineTextCoding.toString()})()`);
  const boot = evaluate(`(${bootRealm.toString()})`) as typeof bootRealm;
  const interpreter = evaluate(
    '() => ({ loadPyodide: () => new Promise(() => {}), createModule: {} })',
  ) as () => Interpreter;
  // Built in there, as nothing of ours is to lie around.
  const realm = boot({ ...functions, ...quiet, ...own }, OPTIONS, interpreter);
  return { evaluate, realm };
}

/** Everything that can be reached from a value by its own properties and prototypes. */
function reachable(evaluate: (text: string) => unknown): ReadonlySet<object> {
  const found = new Set<object>();
  const waiting: unknown[] = [evaluate('globalThis')];
  for (let next = waiting.pop(); waiting.length > 0 || next !== undefined; next = waiting.pop()) {
    if ((typeof next !== 'object' && typeof next !== 'function') || next === null || found.has(next)) continue;
    found.add(next);
    waiting.push(Reflect.getPrototypeOf(next));
    for (const key of Reflect.ownKeys(next)) {
      const property = Reflect.getOwnPropertyDescriptor(next, key);
      waiting.push(property?.value, property?.get, property?.set);
    }
  }
  return found;
}

const OURS: readonly object[] = [
  Object,
  Function,
  Object.prototype,
  Function.prototype,
  Error,
  Error.prototype,
  Promise,
  process,
  globalThis,
];

describe('the realm that Python lives in', () => {
  test('leads from nothing that is in it to an object of the runtime around it', () => {
    const { evaluate } = openRealm();
    const found = reachable(evaluate);
    assert.ok(found.size > 500);
    for (const own of OURS) assert.equal(found.has(own), false);
  });

  test('has nothing but the language', () => {
    const { evaluate } = openRealm();
    const names = [
      'process',
      'require',
      'fetch',
      'WebSocket',
      'XMLHttpRequest',
      'Deno',
      'Bun',
      'module',
      'global',
      'Buffer',
    ];
    assert.deepEqual(
      names.filter((name) => evaluate(`typeof ${name}`) !== 'undefined'),
      [],
    );
  });

  test('what its functions throw is its own, where the host failed and where there was no stack left', () => {
    const { evaluate } = openRealm({
      random: () => {
        throw new Error('of the host');
      },
    });
    const thrown = evaluate(`(() => {
      const kept = [];
      const deep = (call) => { try { deep(call); } catch (error) { kept.push(error); try { call(); } catch (inner) { kept.push(inner); } } };
      try { os.system('sh', ['-c', 'head -c16 x']); } catch (error) { kept.push(error); }
      deep(() => os.system('sh', ['-c', 'head -c16 x']));
      deep(() => console.log('x'));
      deep(() => performance.now());
      deep(() => setTimeout(() => {}, 0));
      return kept.length > 0 && kept.every((error) => error instanceof Error && error.constructor.constructor === Function);
    })()`);
    assert.equal(thrown, true);
  });

  test('no function of the language in it gives or throws an object of the host, whatever it is called with', async () => {
    const { evaluate } = openRealm();
    const calls = evaluate(`(() => {
      const functions = new Map();
      const seen = new Set();
      const walk = (value, path) => {
        if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) return;
        seen.add(value);
        if (typeof value === 'function') functions.set(path, value);
        walk(Reflect.getPrototypeOf(value), path + '.__proto__');
        for (const key of Reflect.ownKeys(value)) {
          const { value: own, get, set } = Reflect.getOwnPropertyDescriptor(value, key);
          for (const each of [own, get, set]) walk(each, path + '.' + String(key));
        }
      };
      walk(globalThis, 'globalThis');
      globalThis.foreign = [];
      const look = (path, told) => {
        if ((typeof told === 'object' && told !== null) || typeof told === 'function') {
          let root = told;
          while (root && root !== Object.prototype && Reflect.getPrototypeOf(root)) root = Reflect.getPrototypeOf(root);
          if (root !== Object.prototype && Reflect.getPrototypeOf(told) !== null) foreign.push(path);
        }
      };
      let calls = 0;
      for (const [path, each] of functions) {
        for (const given of [[], [1], [{}], ['x', 'y'], [new Uint8Array(8), {}]]) {
          for (const how of [() => Reflect.apply(each, undefined, given), () => Reflect.construct(each, given)]) {
            calls += 1;
            try {
              const told = how();
              look(path, told);
              if (told instanceof Promise) told.then((kept) => look(path, kept), (thrown) => look(path, thrown));
            } catch (error) {
              look(path, error);
            }
          }
        }
      }
      return calls;
    })()`);
    assert.ok(Number(calls) > 3_000, String(calls));
    // Its promises, too; what waits for ever is not waited for.
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    assert.deepEqual(evaluate('foreign.join()'), '');
  });

  test('a program cannot have frames of the host by Error.prepareStackTrace', () => {
    const { evaluate } = openRealm();
    const seen = evaluate(`(() => {
      const seen = [];
      try { Error.prepareStackTrace = (error, frames) => { seen.push(...frames); return ''; }; } catch {}
      try { globalThis.Error = class { static prepareStackTrace(error, frames) { seen.push(...frames); } }; } catch {}
      try { null.x; } catch (error) { void error.stack; }
      return seen.length;
    })()`);
    assert.equal(seen, 0);
  });

  test('polluted prototypes of it change nothing around it', () => {
    const { evaluate, realm } = openRealm();
    evaluate(`(() => {
      const spied = [];
      const spy = function () {
        spied[spied.length] = this;
        for (let at = 0; at < arguments.length; at++) spied[spied.length] = arguments[at];
        return this;
      };
      globalThis.spied = spied;
      for (const name of ['toJSON', 'then', 'get', 'set', 'value', 'constructor', 'inspect', Symbol.for('nodejs.util.inspect.custom')]) {
        Object.defineProperty(Object.prototype, name, { __proto__: null, value: spy });
      }
      for (const name of ['push', 'map', 'join', Symbol.iterator]) Array.prototype[name] = spy;
      const { apply } = Reflect;
      const { then } = Promise.prototype;
      const ignore = () => {};
      // What is refused in there has to be heard by somebody: for this process it would be a fault of the test.
      Promise.prototype.then = function () {
        apply(then, this, [ignore, ignore]);
        return apply(spy, this, arguments);
      };
      Map.prototype.get = spy; JSON.parse = spy; Number = spy; String = spy;
    })()`);
    const calls = [
      () => realm.run('{"nonce":"a","code":"","inputs":[]}'),
      () => realm.wake(1),
      () => evaluate(`console.log('x')`),
      () => evaluate('setTimeout(() => {}, 1)'),
      () => evaluate('performance.now()'),
    ];
    for (const call of calls) {
      try {
        call();
      } catch {
        // It has broken its own functions, and what it throws is not looked at.
      }
    }
    assert.equal(JSON.stringify([{}]), '[{}]');
    assert.equal(Object.hasOwn(Object.prototype, 'toJSON'), false);
    const spied = evaluate('spied') as ArrayLike<unknown>;
    assert.ok(spied.length > 0);
    for (let at = 0; at < spied.length; at++) {
      for (const own of reachable(() => spied[at])) assert.ok(!OURS.includes(own), `call ${at}`);
    }
  });

  test('compiles no text', () => {
    const { evaluate } = openRealm();
    for (const text of [`Function('return 1')()`, `eval('1')`, `(async () => {}).constructor('return 1')`]) {
      assert.throws(() => evaluate(text), { name: 'EvalError' });
    }
  });
});

describe('what the host takes from it', () => {
  const { functions } = createHost({
    wake: () => undefined,
    files: (name) => (name === 'a' ? Buffer.from('abc') : undefined),
  });

  test('bytes are bytes, whatever they say of themselves', () => {
    let asked = 0;
    const liar = new Proxy(new Uint8Array(4), {
      get: () => {
        asked++;
        return 1;
      },
    });
    assert.throws(() => functions.fill('a', liar), TypeError);
    assert.equal(functions.size('a'), 3);
    assert.equal(functions.size('b'), 0);
    assert.equal(asked, 0);
  });

  test('a text that is none is nothing', () => {
    const odd = { toString: () => assert.fail('was asked') } as never;
    functions.note(odd);
    functions.broken(odd);
    assert.equal(functions.size(odd), 0);
  });
});
