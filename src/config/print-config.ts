import type { Config } from './config.ts';
import { OPAQUE_SECTIONS } from './file.ts';
import type { Origins } from './load-config.ts';
import { redact } from './redact.ts';
import { leavesOf } from './tree.ts';

/** The effective configuration, a line for each setting: path, value, origin. Secrets are hidden. */
export function printConfig(config: Config, origins: Origins): string {
  const rows = [...leavesOf(redact(config), OPAQUE_SECTIONS)].map(([path, value]) => ({
    path,
    value: typeof value === 'string' ? value : JSON.stringify(value),
    origin: origins.get(path) ?? 'default',
  }));
  const pathWidth = Math.max(...rows.map(({ path }) => path.length));
  // One long value must not push all origins out of sight.
  const valueWidth = Math.min(40, Math.max(...rows.map(({ value }) => value.length)));
  return rows
    .map(({ path, value, origin }) => `${path.padEnd(pathWidth)}  ${value.padEnd(valueWidth)}  ${origin}\n`)
    .join('');
}
