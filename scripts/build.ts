// Compiles the published JavaScript: `npm run build`, or with `--out FOLDER` into another folder than dist.
// `npm pack` and `npm publish` run it too, by scripts/prepack.ts.
import { execFileSync } from 'node:child_process';
import { copyFileSync, globSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({ options: { out: { type: 'string', default: resolve(root, 'dist') } } });
const out = resolve(values.out);

if (!relative(out, root).startsWith('..'))
  throw new Error(`--out ${out} contains this project, and the build empties its output folder. Name another folder.`);
// Without this, compiled files of deleted sources would be published.
rmSync(out, { recursive: true, force: true });
// `npm run check` checks the types. The output does not depend on them (isolatedModules), so the build does not check them
// again, which takes most of the time.
const compile = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--noCheck', '--outDir', out];
execFileSync(process.execPath, compile, { cwd: root, stdio: 'inherit' });
// Data that the code reads from beside itself.
for (const file of globSync('**/*.whl', { cwd: join(root, 'src') }))
  copyFileSync(join(root, 'src', file), join(out, file));
