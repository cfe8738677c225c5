import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepareBenchFolder } from './bench-folder.ts';
import { runProgram } from './run-program.ts';

const GATEWAY_VERSION = '1.15.2';

/**
 * The gateway accepts any @hono/node-server >=1.3.3 and <2. With 1.14.2 to 1.19.19 each stream fails with status 500,
 * "TypeError: immutable", because these versions let the gateway write to the headers of the upstream's response.
 * 1.14.1 is the last version before them; @hono/node-ws 1.2.0 is the last that accepts it.
 */
const PINNED_VERSIONS = { '@hono/node-server': '1.14.1', '@hono/node-ws': '1.2.0' };

/** Installs the gateway and returns the path of its program, a Node script. */
export async function setUpPortkey(logProgress: (text: string) => void): Promise<string> {
  const packageJson = {
    private: true,
    dependencies: { '@portkey-ai/gateway': GATEWAY_VERSION },
    overrides: PINNED_VERSIONS,
  };
  const folder = await prepareBenchFolder('portkey', JSON.stringify(packageJson), async (at) => {
    logProgress(`installing @portkey-ai/gateway ${GATEWAY_VERSION}`);
    writeFileSync(join(at, 'package.json'), JSON.stringify(packageJson));
    const quietly = ['--ignore-scripts', '--omit=optional', '--omit=dev', '--no-audit', '--no-fund'];
    await runProgram('npm', ['install', ...quietly], at);
  });
  return join(folder, 'node_modules', '@portkey-ai', 'gateway', 'build', 'start-server.js');
}
