import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Folder of chat templates of real models, which are not part of the project; it may be missing. */
const FOLDER =
  process.env['PARLEY_CHAT_TEMPLATES'] ?? fileURLToPath(new URL('../../shared/chat-templates/', import.meta.url));

/** Reads the templates of real models, by file name. */
export function readRealTemplates(): Readonly<Record<string, string>> {
  const files = existsSync(FOLDER) ? readdirSync(FOLDER).filter((file) => file.endsWith('.jinja')) : [];
  return Object.fromEntries(files.map((file) => [file, readFileSync(join(FOLDER, file), 'utf8')]));
}
