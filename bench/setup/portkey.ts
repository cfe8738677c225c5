import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { benchFolder } from './bench-folder.ts';
import { runProgram } from './run-program.ts';

const GATEWAY = '1.15.2';

/**
 * The gateway asks for any @hono/node-server from 1.3.3 on below 2. With 1.14.2 to 1.19.19 each of its streams is a 500,
 * "TypeError: immutable": those versions let it write to the headers of the upstream's own answer. 1.14.1 is the last
 * before them; @hono/node-ws 1.2.0 is the last that takes it.
 */
const PINS = { '@hono/node-server': '1.14.1', '@hono/node-ws': '1.2.0' };

/** The gateway's program, for node. */
export async function setUpPortkey(note: (text: string) => void): Promise<string> {
  const wanted = {
    private: true,
    dependencies: { '@portkey-ai/gateway': GATEWAY },
    overrides: PINS,
  };
  const folder = await benchFolder('portkey', JSON.stringify(wanted), async (at) => {
    note(`installing @portkey-ai/gateway ${GATEWAY}`);
    writeFileSync(join(at, 'package.json'), JSON.stringify(wanted));
    const quietly = ['--ignore-scripts', '--omit=optional', '--omit=dev', '--no-audit', '--no-fund'];
    await runProgram('npm', ['install', ...quietly], at);
  });
  return join(folder, 'node_modules', '@portkey-ai', 'gateway', 'build', 'start-server.js');
}
