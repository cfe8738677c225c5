#!/usr/bin/env node
// The published command. It has no static imports and no new syntax, so that an old Node can run it and find a newer one.
const here = new URL('.', import.meta.url);

const main = async () => {
  const { existsSync } = await import('node:fs');
  const { fileURLToPath } = await import('node:url');
  const { getCompileCacheFolder, isNodeRecent, runNode } = await import('./find-node.mjs');

  // A checkout runs its sources, which are newer than its dist; the published package has dist only.
  const sources = new URL('../src/cli.ts', here);
  const entry = existsSync(sources) ? sources : new URL('../dist/cli.js', here);
  if (!isNodeRecent) return runNode([fileURLToPath(entry), ...process.argv.slice(2)]);

  const { enableCompileCache } = await import('node:module');
  enableCompileCache(getCompileCacheFolder());

  const { emitWarning } = process;
  // Node warns that its built-in SQLite is experimental; a user of the command cannot act on that warning.
  process.emitWarning = (warning, ...rest) => {
    const type = rest[0] && typeof rest[0] === 'object' ? rest[0].type : rest[0];
    if (type !== 'ExperimentalWarning') emitWarning.call(process, warning, ...rest);
  };
  process.argv[1] = fileURLToPath(entry);
  await import(entry.href);
};

void main();
