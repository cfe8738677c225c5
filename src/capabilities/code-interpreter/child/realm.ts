import type { PyodideAPI } from 'pyodide';
import type { ProgramOutcome } from './messages.ts';

/**
 * Functions that Python's realm may call. Arguments are texts, numbers, and byte arrays of that realm; results are
 * texts and numbers: code that gets an object of the host's realm can reach the whole host.
 */
export interface RealmFunctions {
  /** Size of a file of the interpreter or an input file; the host decides which exist. */
  readonly getFileSize: (name: string) => number;
  readonly readFile: (name: string, bytes: Uint8Array) => void;
  /** Returns random bytes in base64. */
  readonly getRandomBytes: (bytes: number) => string;
  /** Milliseconds since an arbitrary start. */
  readonly getTime: () => number;
  /** Calls `fireTimer` with the timer number after `ms` milliseconds. */
  readonly setTimer: (timer: number, ms: number) => void;
  /** Writes a message of the interpreter to the log of the service. */
  readonly log: (text: string) => void;
  readonly writeOutput: (stream: 'stdout' | 'stderr', bytes: Uint8Array) => void;
  readonly sendFile: (name: string, bytes: Uint8Array) => void;
  readonly sendSnapshot: (bytes: Uint8Array) => void;
  readonly reportReady: () => void;
  readonly reportDone: (nonce: string, outcome: string) => void;
  readonly reportBroken: (reason: string) => void;
}

export interface RealmOptions {
  readonly hasSnapshot: boolean;
  readonly makesSnapshot: boolean;
  readonly wheelNames: readonly string[];
  /** JSON: the `info` of the interpreter's lock file. */
  readonly lockInfo: string;
  readonly harness: string;
  readonly homeFolder: string;
  /** JSON: handed to the harness. */
  readonly harnessLimits: string;
}

/** A program to run. Its input files are read by name. */
export interface RealmProgram {
  readonly nonce: string;
  readonly code: string;
  readonly inputs: readonly string[];
}

/** Functions by which the host calls into the realm, with texts and numbers only. */
export interface Realm {
  readonly run: (order: string) => void;
  readonly fireTimer: (timer: number) => void;
}

/** Definitions of the interpreter's files when they run as scripts. */
export interface Interpreter {
  loadPyodide(options: unknown): Promise<PyodideAPI>;
  createModule: unknown;
}

/**
 * Runs in a realm that contains only the language: no process, no require, no network, no files. The source text of
 * this function is evaluated there, so it must not use anything declared outside of it. Python can reach and change
 * every object of that realm, so all of it counts as program code, and only calls to the host are guarded.
 */
export function bootRealm(host: RealmFunctions, options: RealmOptions, interpreter: () => Interpreter): Realm {
  'use strict';
  // Errors of the host, including stack overflows, are objects of the host's realm and must not leave this function.
  const guarded =
    <Arguments extends readonly unknown[], Result>(call: (...args: Arguments) => Result) =>
    (...args: Arguments): Result => {
      try {
        return call(...args);
      } catch {
        throw new Error('not available');
      }
    };
  const size = guarded(host.getFileSize);
  const fill = guarded(host.readFile);
  const getRandomBytes = guarded(host.getRandomBytes);
  const now = guarded(host.getTime);
  const wakeIn = guarded(host.setTimer);
  const logText = guarded(host.log);
  const writeBytes = guarded(host.writeOutput);
  const sendFile = guarded(host.sendFile);
  const sendSnapshot = guarded(host.sendSnapshot);
  const reportReady = guarded(host.reportReady);
  const reportDone = guarded(host.reportDone);
  const reportBroken = guarded(host.reportBroken);

  const readBytes = (name: string): Uint8Array => {
    const bytes = new Uint8Array(size(name));
    fill(name, bytes);
    return bytes;
  };

  // Otherwise programs could install it and receive stack frames of the host's functions.
  Object.defineProperty(Error, 'prepareStackTrace', { value: undefined, writable: false, configurable: false });
  Object.defineProperty(globalThis, 'Error', { value: Error, writable: false, configurable: false });

  // These functions throw errors of the host's realm for any argument.
  const wasm: object = Reflect.get(globalThis, 'WebAssembly') as object;
  for (const name of ['compileStreaming', 'instantiateStreaming']) Reflect.deleteProperty(wasm, name);

  const timers = new Map<number, () => void>();
  let lastTimer = 0;
  const setTimer = (work: () => void, ms = 0): number => {
    lastTimer += 1;
    timers.set(lastTimer, work);
    wakeIn(lastTimer, Number(ms));
    return lastTimer;
  };
  const logParts = (...parts: readonly unknown[]): void => logText(parts.map((part) => String(part)).join(' '));
  // Globals that the interpreter expects from a bare JavaScript shell, i.e. neither a browser nor Node.
  Object.assign(globalThis, {
    readbuffer: (name: string) => readBytes(name).buffer,
    read: () => '',
    load: () => undefined,
    os: {
      system: (_shell: string, [, command]: readonly [string, string]) =>
        getRandomBytes(parseInt(command.slice(7), 10)),
    },
    console: { log: logParts, info: logParts, debug: logParts, warn: logParts, error: logParts },
    performance: { now: () => now() },
    setTimeout: setTimer,
    clearTimeout: (timer: number) => void timers.delete(timer),
  });

  const fail = (reason: unknown): void => reportBroken(String(reason));
  let python: PyodideAPI;
  let runProgram: (code: string) => PromiseLike<string>;

  const start = async (): Promise<void> => {
    const { loadPyodide, createModule } = interpreter();
    python = await loadPyodide({
      indexURL: 'pyodide/',
      createPyodideModule: createModule,
      // An empty lock file: no packages are known, so none is downloaded.
      lockFileContents: { info: JSON.parse(options.lockInfo) as unknown, packages: {} },
      packageBaseUrl: 'wheels/',
      jsglobals: Object.create(null) as object,
      env: { HOME: options.homeFolder, MPLBACKEND: 'agg' },
      ...(options.makesSnapshot && { _makeSnapshot: true }),
      ...(options.hasSnapshot && { _loadSnapshot: readBytes('snapshot') }),
    });
    if (options.makesSnapshot) {
      python.runPython('import ast, asyncio, inspect, io, json, linecache, os, stat, sys, traceback');
      sendSnapshot(python.makeMemorySnapshot());
      return;
    }
    // Python reads the archive in place. Wheels of the operator come first in the path, so theirs may be newer.
    python.FS.writeFile('/lib/time-zones.zip', readBytes('time-zones'));
    python.runPython(`import sys; sys.path.append('/lib/time-zones.zip')`);
    if (options.wheelNames.length > 0) {
      await python.loadPackage(
        Array.from(options.wheelNames, (name) => `wheels/${name}`),
        { checkIntegrity: false, messageCallback: () => undefined, errorCallback: (text: string) => logText(text) },
      );
    }
    for (const stream of ['stdout', 'stderr'] as const) {
      const write = (bytes: Uint8Array): number => {
        writeBytes(stream, bytes);
        return bytes.length;
      };
      if (stream === 'stdout') python.setStdout({ write });
      else python.setStderr({ write });
    }
    python.setStdin({ stdin: () => null });
    // `os._exit` and fatal errors end the interpreter without settling any promise.
    const { _api, _module } = python as unknown as Record<'_api' | '_module', Record<string, unknown>>;
    _api.on_fatal = fail;
    _module.onExit = () => reportBroken('exit');
    const harnessGlobals = python.toPy({ LIMITS: options.harnessLimits, HOME: options.homeFolder }) as never;
    runProgram = python.runPython(options.harness, {
      globals: harnessGlobals,
      filename: 'harness.py',
    }) as typeof runProgram;
    for (const name of ['pyodide_js', 'js']) python.unregisterJsModule(name);
    Reflect.deleteProperty(globalThis, 'readbuffer');
    Reflect.deleteProperty(globalThis, 'read');
    Reflect.deleteProperty(globalThis, 'load');
    reportReady();
  };

  const runNext = async ({ nonce, code, inputs }: RealmProgram): Promise<void> => {
    for (const name of inputs) {
      const path = `${options.homeFolder}/${name}`;
      if (python.FS.analyzePath(path, false).exists) python.FS.unlink(path);
      python.FS.writeFile(path, readBytes(`input/${name}`));
      python.FS.chmod(path, 0o444);
    }
    const result = JSON.parse(await runProgram(code)) as ProgramOutcome & {
      readonly files: readonly [string, string][];
    };
    for (const [name, path] of result.files) sendFile(name, python.FS.readFile(path));
    const { value, error, isTruncated } = result;
    reportDone(nonce, JSON.stringify({ value, error, isTruncated }));
  };

  void start().catch(fail);
  return {
    run(programJson) {
      try {
        void runNext(JSON.parse(programJson) as RealmProgram).catch(fail);
      } catch (error) {
        fail(error);
      }
    },
    fireTimer(timer) {
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
