#!/usr/bin/env node
// The published command. No static imports and no new syntax: an old Node must get as far as finding a newer one.
const here = new URL('.', import.meta.url);

const main = async () => {
  const { existsSync } = await import('node:fs');
  const { fileURLToPath } = await import('node:url');
  const { isNodeRecent, runNode } = await import('./find-node.mjs');

  // A checkout has the sources, and they are newer than any dist in it; the published package has dist only.
  const sources = new URL('../src/cli.ts', here);
  const entry = existsSync(sources) ? sources : new URL('../dist/cli.js', here);
  if (!isNodeRecent) return runNode([fileURLToPath(entry), ...process.argv.slice(2)]);

  const { emitWarning } = process;
  // The built-in SQLite still announces itself as experimental; nobody who types a command can act on that.
  process.emitWarning = (warning, ...rest) => {
    const type = rest[0] && typeof rest[0] === 'object' ? rest[0].type : rest[0];
    if (type !== 'ExperimentalWarning') emitWarning.call(process, warning, ...rest);
  };
  process.argv[1] = fileURLToPath(entry);
  await import(entry.href);
};

void main();
