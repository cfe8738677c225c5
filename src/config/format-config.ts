import type { Config } from './config.ts';
import { OPAQUE_SECTIONS } from './parse-config-file.ts';
import type { Origins } from './load-config.ts';
import { redact } from './redact.ts';
import { listLeaves } from './tree.ts';

/** Formats the effective configuration, one line per setting: path, value, origin. Secrets are hidden. */
export function formatConfig(config: Config, origins: Origins): string {
  const rows = [...listLeaves(redact(config), OPAQUE_SECTIONS)].map(([path, value]) => ({
    path,
    value: typeof value === 'string' ? value : JSON.stringify(value),
    origin: origins.get(path) ?? 'default',
  }));
  const pathWidth = Math.max(...rows.map(({ path }) => path.length));
  // Limited, so that one long value does not push all origins out of sight.
  const valueWidth = Math.min(40, Math.max(...rows.map(({ value }) => value.length)));
  return rows
    .map(({ path, value, origin }) => `${path.padEnd(pathWidth)}  ${value.padEnd(valueWidth)}  ${origin}\n`)
    .join('');
}
