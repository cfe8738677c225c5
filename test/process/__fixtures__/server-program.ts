// A server program as others write them, with every bad habit on demand. Its plan is JSON in the variable PLAN.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';

export interface ProgramPlan {
  /** Answers 503 until this file is there. */
  readonly loadsUntil?: string;
  /** Ends before it listens, until this file is there. */
  readonly crashesUntil?: string;
  /** Hears no SIGTERM, and neither does what it starts. */
  readonly isDeaf?: boolean;
  /** Starts a process that starts a process. */
  readonly hasChildren?: boolean;
}

/** What `GET /self` tells. */
export interface ProgramSelf {
  readonly pid: number;
  /** Of what it has started. */
  readonly children: readonly number[];
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly workingFolder: string;
}

const plan = JSON.parse(process.env.PLAN ?? '{}') as ProgramPlan;
const port = Number(process.argv[process.argv.indexOf('--port') + 1]);

if (plan.isDeaf) process.on('SIGTERM', () => process.stdout.write('heard and ignored\n'));
if (plan.crashesUntil !== undefined && !existsSync(plan.crashesUntil)) {
  process.stderr.write(`no memory left for key ${process.env.PROGRAM_KEY}\n`);
  process.exit(3);
}

const children: number[] = [];
if (plan.hasChildren) {
  const deaf = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);";
  const child = spawn(
    process.execPath,
    [
      '-e',
      `const inner = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(deaf)}]);
       console.log(inner.pid); ${deaf}`,
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
    case '/self': {
      if (request.headers.authorization !== `Bearer ${process.env.PROGRAM_KEY}`) return void response.writeHead(401).end();
      const environment = Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, value ?? '']));
      const self: ProgramSelf = {
        pid: process.pid,
        children,
        args: process.argv.slice(2),
        environment,
        workingFolder: process.cwd(),
      };
      response.end(JSON.stringify(self));
      return;
    }
    case '/die-in-mid-answer':
      response.write('half an ans', () => process.kill(process.pid, 'SIGKILL'));
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
