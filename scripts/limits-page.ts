// `npm run limits` writes docs/limits.md from every `limits.ts` below src, and a page for each capability into its folder.
// A test compares the pages with the code.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Lists the pages of the tree at `root`, with the folder whose limits each contains. */
export function listLimitsPages(root: string): readonly { readonly page: string; readonly folder: string }[] {
  const capabilities = globSync('src/capabilities/*/', { cwd: root }).map((path) =>
    path.replaceAll('\\', '/').replace(/\/$/, ''),
  );
  return [
    { page: 'docs/limits.md', folder: 'src' },
    ...capabilities.toSorted().map((folder) => ({ page: `${folder}/limits.md`, folder })),
  ];
}

/** A comment and the constants that follow it without a blank line: the comment describes all of them. */
export interface LimitGroup {
  readonly comment: string;
  readonly names: readonly string[];
}

const HEAD = `# Limits

Written from the code by \`npm run limits\`; a test fails when the page is out of date. Each section is one \`limits.ts\` file.
A limit's name contains its unit: \`MS\` is milliseconds, \`BYTES\` bytes, \`CHARS\` UTF-16 code units. A number such as 400 is the
HTTP status of the refusal. Operators change limits only where the configuration has a setting for them (\`parley config\`).
`;

/** Returns the text of the page of a folder in the tree at `root`. Imports every limits.ts to get its values. */
export async function renderLimitsPage(root: string, folder: string): Promise<string> {
  const paths = globSync(`${folder}/**/limits.ts`, { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => folder !== 'src' || !path.startsWith('src/capabilities/'));
  const sections = await Promise.all(
    paths.toSorted(compareSharedFirst).map(async (path) => {
      const values: Record<string, unknown> = await import(pathToFileURL(join(root, path)).href);
      return renderSection(path, readLimitGroups(readFileSync(join(root, path), 'utf8')), values);
    }),
  );
  return [HEAD, ...sections].join('\n');
}

/** Splits the source of a limits.ts file into its comments and the constants below each. */
export function readLimitGroups(source: string): readonly LimitGroup[] {
  return source
    .split(/\n{2,}/)
    .map((block) => ({
      comment: (/\/\*\*([\s\S]*?)\*\//.exec(block)?.[1] ?? '').replaceAll(/\s*\n\s*\* ?/g, ' ').trim(),
      names: Array.from(block.matchAll(/^export const (\w+)/gm), ([, name = '']) => name),
    }))
    .filter(({ names }) => names.length > 0);
}

function renderSection(path: string, groups: readonly LimitGroup[], values: Readonly<Record<string, unknown>>): string {
  const rows = groups.map(({ comment, names }) => {
    const cells = [names.map((name) => `\`${name}\``), names.map((name) => formatValue(values[name]))];
    return `| ${cells.map((lines) => lines.join('<br>')).join(' | ')} | ${comment.replaceAll('|', '\\|')} |`;
  });
  return `## \`${path}\`\n\n| limit | value | meaning |\n|---|---|---|\n${rows.join('\n')}\n`;
}

function formatValue(value: unknown): string {
  if (typeof value === 'number') return value.toLocaleString('en-US', { maximumFractionDigits: 6 });
  const text = value instanceof Set ? [...value].join(', ') : (JSON.stringify(value) ?? String(value));
  return text.replaceAll('|', '\\|');
}

/** Puts the limits that several modules share first. */
function compareSharedFirst(a: string, b: string): number {
  return Number(b.startsWith('src/core/')) - Number(a.startsWith('src/core/')) || (a < b ? -1 : 1);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  for (const { page, folder } of listLimitsPages(root))
    writeFileSync(join(root, page), await renderLimitsPage(root, folder));
}
