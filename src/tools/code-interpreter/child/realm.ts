import type { PyodideAPI } from 'pyodide';
import type { Outcome } from './messages.ts';

/**
 * All that Python's side may call. Arguments are texts, numbers, and bytes of its own; results are texts and numbers: whoever
 * gets hold of an object of the host's gets hold of the host.
 */
export interface Host {
  /** Bytes of a file of the interpreter's own, or of the caller's; which there are is the host's to say. */
  readonly size: (name: string) => number;
  readonly fill: (name: string, bytes: Uint8Array) => void;
  /** So many random bytes, in base64. */
  readonly random: (bytes: number) => string;
  /** Milliseconds from some start. */
  readonly now: () => number;
  /** Calls `wake` with that number after so many milliseconds. */
  readonly wakeIn: (timer: number, ms: number) => void;
  /** What came up while it got ready, for the log of whoever runs the service. */
  readonly note: (text: string) => void;
  readonly printed: (stream: 'stdout' | 'stderr', bytes: Uint8Array) => void;
  readonly file: (name: string, bytes: Uint8Array) => void;
  readonly snapshot: (bytes: Uint8Array) => void;
  readonly ready: () => void;
  readonly done: (nonce: string, outcome: string) => void;
  readonly broken: (reason: string) => void;
}

export interface RealmOptions {
  readonly hasSnapshot: boolean;
  readonly isForSnapshot: boolean;
  readonly wheelNames: readonly string[];
  /** JSON: the `info` of the interpreter's lock file. */
  readonly lockInfo: string;
  readonly harness: string;
  readonly homeFolder: string;
  /** JSON: handed to the harness. */
  readonly harnessLimits: string;
}

/** A program to run; what it may read is asked for by name. */
export interface RealmOrder {
  readonly nonce: string;
  readonly code: string;
  readonly inputs: readonly string[];
}

/** How the host reaches in: with texts and numbers only. */
export interface Realm {
  readonly run: (order: string) => void;
  readonly wake: (timer: number) => void;
}

/** What the interpreter's own files define when they are run as scripts. */
export interface Interpreter {
  loadPyodide(options: unknown): Promise<PyodideAPI>;
  createModule: unknown;
}

/**
 * Runs within a realm of its own that has nothing but the language: no process, no require, no network, no files. Its text is
 * taken from here and evaluated there, so it uses nothing from outside its braces. Python can reach every object of that realm
 * and change it, so all of it counts as the program's, and only what crosses to the host is guarded.
 */
export function bootRealm(host: Host, options: RealmOptions, interpreter: () => Interpreter): Realm {
  'use strict';
  // What the host throws, for want of stack too, is an object of the host's: it ends here.
  const guarded =
    <Arguments extends readonly unknown[], Result>(call: (...args: Arguments) => Result) =>
    (...args: Arguments): Result => {
      try {
        return call(...args);
      } catch {
        throw new Error('not available');
      }
    };
  const size = guarded(host.size);
  const fill = guarded(host.fill);
  const random = guarded(host.random);
  const now = guarded(host.now);
  const wakeIn = guarded(host.wakeIn);
  const note = guarded(host.note);
  const printed = guarded(host.printed);
  const sendFile = guarded(host.file);
  const sendSnapshot = guarded(host.snapshot);
  const ready = guarded(host.ready);
  const done = guarded(host.done);
  const broken = guarded(host.broken);

  const bytesOf = (name: string): Uint8Array => {
    const bytes = new Uint8Array(size(name));
    fill(name, bytes);
    return bytes;
  };

  // Programs would be handed the frames of the host's functions by it.
  Object.defineProperty(Error, 'prepareStackTrace', { value: undefined, writable: false, configurable: false });
  Object.defineProperty(globalThis, 'Error', { value: Error, writable: false, configurable: false });

  // These fail with errors of the host's making, whatever they are given.
  const wasm: object = Reflect.get(globalThis, 'WebAssembly') as object;
  for (const name of ['compileStreaming', 'instantiateStreaming']) Reflect.deleteProperty(wasm, name);

  const timers = new Map<number, () => void>();
  let lastTimer = 0;
  const later = (work: () => void, ms = 0): number => {
    lastTimer += 1;
    timers.set(lastTimer, work);
    wakeIn(lastTimer, Number(ms));
    return lastTimer;
  };
  const say = (...parts: readonly unknown[]): void => note(parts.map((part) => String(part)).join(' '));
  // What the interpreter expects where there is neither a browser nor Node: a bare shell of the language.
  Object.assign(globalThis, {
    readbuffer: (name: string) => bytesOf(name).buffer,
    read: () => '',
    load: () => undefined,
    os: { system: (_shell: string, [, command]: readonly [string, string]) => random(parseInt(command.slice(7), 10)) },
    console: { log: say, info: say, debug: say, warn: say, error: say },
    performance: { now: () => now() },
    setTimeout: later,
    clearTimeout: (timer: number) => void timers.delete(timer),
  });

  const fail = (reason: unknown): void => broken(String(reason));
  let python: PyodideAPI;
  let runProgram: (code: string) => PromiseLike<string>;

  const begin = async (): Promise<void> => {
    const { loadPyodide, createModule } = interpreter();
    python = await loadPyodide({
      indexURL: 'pyodide/',
      createPyodideModule: createModule,
      // No packages are known, so none is looked for anywhere.
      lockFileContents: { info: JSON.parse(options.lockInfo) as unknown, packages: {} },
      packageBaseUrl: 'wheels/',
      jsglobals: Object.create(null) as object,
      env: { HOME: options.homeFolder, MPLBACKEND: 'agg' },
      ...(options.isForSnapshot && { _makeSnapshot: true }),
      ...(options.hasSnapshot && { _loadSnapshot: bytesOf('snapshot') }),
    });
    if (options.isForSnapshot) {
      python.runPython('import ast, asyncio, inspect, io, json, linecache, os, stat, sys, traceback');
      sendSnapshot(python.makeMemorySnapshot());
      return;
    }
    if (options.wheelNames.length > 0) {
      await python.loadPackage(
        Array.from(options.wheelNames, (name) => `wheels/${name}`),
        { checkIntegrity: false, messageCallback: () => undefined, errorCallback: (text: string) => note(text) },
      );
    }
    for (const stream of ['stdout', 'stderr'] as const) {
      const write = (bytes: Uint8Array): number => {
        printed(stream, bytes);
        return bytes.length;
      };
      if (stream === 'stdout') python.setStdout({ write });
      else python.setStderr({ write });
    }
    python.setStdin({ stdin: () => null });
    // `os._exit` and faults of the interpreter end it where nobody waits for them.
    const { _api, _module } = python as unknown as Record<'_api' | '_module', Record<string, unknown>>;
    _api.on_fatal = fail;
    _module.onExit = () => broken('exit');
    const own = python.toPy({ LIMITS: options.harnessLimits, HOME: options.homeFolder }) as never;
    runProgram = python.runPython(options.harness, { globals: own, filename: 'harness.py' }) as typeof runProgram;
    for (const name of ['pyodide_js', 'js']) python.unregisterJsModule(name);
    Reflect.deleteProperty(globalThis, 'readbuffer');
    Reflect.deleteProperty(globalThis, 'read');
    Reflect.deleteProperty(globalThis, 'load');
    ready();
  };

  const runOrder = async ({ nonce, code, inputs }: RealmOrder): Promise<void> => {
    for (const name of inputs) {
      const path = `${options.homeFolder}/${name}`;
      if (python.FS.analyzePath(path, false).exists) python.FS.unlink(path);
      python.FS.writeFile(path, bytesOf(`input/${name}`));
      python.FS.chmod(path, 0o444);
    }
    const told = JSON.parse(await runProgram(code)) as Outcome & { readonly files: readonly [string, string][] };
    for (const [name, path] of told.files) sendFile(name, python.FS.readFile(path));
    const { value, error, isCut } = told;
    done(nonce, JSON.stringify({ value, error, isCut }));
  };

  void begin().catch(fail);
  return {
    run(order) {
      try {
        void runOrder(JSON.parse(order) as RealmOrder).catch(fail);
      } catch (error) {
        fail(error);
      }
    },
    wake(timer) {
      const work = timers.get(timer);
      timers.delete(timer);
      try {
        work?.();
      } catch (error) {
        fail(error);
      }
    },
  };
}
