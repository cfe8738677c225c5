import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as waitForEventLoop } from 'node:timers/promises';
import vm from 'node:vm';
import { createRealmHost } from './realm-host.ts';
import { bootRealm } from './realm.ts';
import type { RealmFunctions, Interpreter, RealmOptions } from './realm.ts';
import { defineTextCoding } from './text-coding.ts';

const OPTIONS: RealmOptions = {
  hasSnapshot: false,
  makesSnapshot: false,
  wheelNames: [],
  lockInfo: '{}',
  harness: '',
  homeFolder: '/home/user',
  harnessLimits: '{}',
};

/** Creates a realm as main.ts does, with an interpreter that never finishes loading. */
function openRealm(overrides: Partial<RealmFunctions> = {}) {
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, { codeGeneration: { strings: false, wasm: true } });
  const { functions } = createRealmHost({ wake: () => undefined, files: () => undefined });
  const silentFunctions = { log: () => undefined, reportBroken: () => undefined };
  const evaluate = (text: string): unknown => new vm.Script(text).runInContext(context);
  evaluate(`(${defineTextCoding.toString()})()`);
  const boot = evaluate(`(${bootRealm.toString()})`) as typeof bootRealm;
  const interpreter = evaluate(
    '() => ({ loadPyodide: () => new Promise(() => {}), createModule: {} })',
  ) as () => Interpreter;
  // The interpreter is created inside the realm, so that no object of the host leaks in.
  const realm = boot({ ...functions, ...silentFunctions, ...overrides }, OPTIONS, interpreter);
  return { evaluate, realm };
}

/** Collects all objects that are reachable from a value by its properties and prototypes. */
function findReachableObjects(evaluate: (text: string) => unknown): ReadonlySet<object> {
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

const HOST_OBJECTS: readonly object[] = [
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

describe('bootRealm', () => {
  test('reaches no object of the host realm from any object in it', () => {
    const { evaluate } = openRealm();
    const found = findReachableObjects(evaluate);
    assert.ok(found.size > 500);
    for (const own of HOST_OBJECTS) assert.equal(found.has(own), false);
  });

  test('contains only the language', () => {
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

  test('throws only errors of the realm, also after an error of the host and a stack overflow', () => {
    const { evaluate } = openRealm({
      getRandomBytes: () => {
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

  test('neither returns nor throws an object of the host from any function, whatever its arguments', async () => {
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
    // Lets promises settle; those that never do are ignored.
    for (let turn = 0; turn < 10; turn++) await waitForEventLoop();
    assert.deepEqual(evaluate('foreign.join()'), '');
  });

  test('exposes no stack frames of the host by Error.prepareStackTrace', () => {
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

  test('isolates the host from polluted prototypes of the realm', () => {
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
      // Handles all rejections in the realm, because the test process would report unhandled ones.
      Promise.prototype.then = function () {
        apply(then, this, [ignore, ignore]);
        return apply(spy, this, arguments);
      };
      Map.prototype.get = spy; JSON.parse = spy; Number = spy; String = spy;
    })()`);
    const calls = [
      () => realm.run('{"nonce":"a","code":"","inputs":[]}'),
      () => realm.fireTimer(1),
      () => evaluate(`console.log('x')`),
      () => evaluate('setTimeout(() => {}, 1)'),
      () => evaluate('performance.now()'),
    ];
    for (const call of calls) {
      try {
        call();
      } catch {
        // The realm has broken its own functions; its errors do not matter.
      }
    }
    assert.equal(JSON.stringify([{}]), '[{}]');
    assert.equal(Object.hasOwn(Object.prototype, 'toJSON'), false);
    const spied = evaluate('spied') as ArrayLike<unknown>;
    assert.ok(spied.length > 0);
    for (let at = 0; at < spied.length; at++) {
      for (const own of findReachableObjects(() => spied[at])) assert.ok(!HOST_OBJECTS.includes(own), `call ${at}`);
    }
  });

  test('compiles no source text', () => {
    const { evaluate } = openRealm();
    for (const text of [`Function('return 1')()`, `eval('1')`, `(async () => {}).constructor('return 1')`]) {
      assert.throws(() => evaluate(text), { name: 'EvalError' });
    }
  });
});

describe('arguments of the host functions', () => {
  const { functions } = createRealmHost({
    wake: () => undefined,
    files: (name) => (name === 'a' ? Buffer.from('abc') : undefined),
  });

  test('accepts real byte arrays only, and reads none of their properties', () => {
    let readCount = 0;
    const liar = new Proxy(new Uint8Array(4), {
      get: () => {
        readCount++;
        return 1;
      },
    });
    assert.throws(() => functions.readFile('a', liar), TypeError);
    assert.equal(functions.getFileSize('a'), 3);
    assert.equal(functions.getFileSize('b'), 0);
    assert.equal(readCount, 0);
  });

  test('ignores values that are not texts', () => {
    const odd = { toString: () => assert.fail('toString was called') } as never;
    functions.log(odd);
    functions.reportBroken(odd);
    assert.equal(functions.getFileSize(odd), 0);
  });
});
