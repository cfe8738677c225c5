// A server program that can misbehave in several ways. The environment variable PLAN contains a FakeProgramPlan as
// JSON.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';

export interface FakeProgramPlan {
  /** Path of a file: the program answers 503 until the file exists. */
  readonly loadsUntil?: string;
  /** Path of a file: the program exits before it listens until the file exists. */
  readonly crashesUntil?: string;
  /** Whether the program ignores SIGTERM. Its descendants always do. */
  readonly ignoresSigterm?: boolean;
  /** Whether the program starts a child and a grandchild. */
  readonly hasChildren?: boolean;
}

/** The response of `GET /info`. */
export interface FakeProgramInfo {
  readonly pid: number;
  /** Process ids of the grandchild and the child. */
  readonly children: readonly number[];
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly workingFolder: string;
}

const plan = JSON.parse(process.env.PLAN ?? '{}') as FakeProgramPlan;
const port = Number(process.argv[process.argv.indexOf('--port') + 1]);

if (plan.ignoresSigterm) process.on('SIGTERM', () => process.stdout.write('SIGTERM ignored\n'));
if (plan.crashesUntil !== undefined && !existsSync(plan.crashesUntil)) {
  process.stderr.write(`no memory left for key ${process.env.PROGRAM_KEY}\n`);
  process.exit(3);
}

const children: number[] = [];
if (plan.hasChildren) {
  const sigtermIgnoringScript = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);";
  const child = spawn(
    process.execPath,
    [
      '-e',
      `const inner = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(sigtermIgnoringScript)}]);
       console.log(inner.pid); ${sigtermIgnoringScript}`,
    ],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  child.stdout.on('data', (data: Buffer) => children.push(Number(String(data)), child.pid ?? 0));
}

const isLoading = (): boolean =>
  (plan.loadsUntil !== undefined && !existsSync(plan.loadsUntil)) || (plan.hasChildren === true && children.length === 0);

createServer((request, response) => {
  switch (request.url) {
    case '/health':
      process.stdout.write(`${isLoading() ? 'loading' : 'healthy'}\n`);
      response.writeHead(isLoading() ? 503 : 200).end();
      return;
    case '/info': {
      if (request.headers.authorization !== `Bearer ${process.env.PROGRAM_KEY}`) return void response.writeHead(401).end();
      const environment = Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, value ?? '']));
      const info: FakeProgramInfo = {
        pid: process.pid,
        children,
        args: process.argv.slice(2),
        environment,
        workingFolder: process.cwd(),
      };
      response.end(JSON.stringify(info));
      return;
    }
    case '/crash-mid-response':
      response.write('half a respon', () => process.kill(process.pid, 'SIGKILL'));
      return;
    case '/fail':
      response.writeHead(500).end();
      return;
    case '/hang':
      response.end('', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
      return;
    default:
      response.writeHead(404).end();
  }
}).listen(port, '127.0.0.1');
