import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { usedExports } from './tidy/exports.ts';
import { fileNames, fileSizes, guidedTour, installScripts, markdownTitles, packageScripts } from './tidy/files.ts';
import { acyclicImports, importDirections, knownModules, packageOwners } from './tidy/imports.ts';
import { links, outsideDocuments } from './tidy/links.ts';
import { bannedWords, descriptiveNames, readBannedWords, uniqueTypeNames } from './tidy/names.ts';
import { securityTests } from './tidy/security.ts';
import { makeTree, readTree, type Rule, type Tree } from './tidy/tree.ts';
import { focusedTests, unitTests } from './tidy/unit-tests.ts';
import { commentStarts, wordingRules } from './tidy/wording.ts';

const RULES: readonly Rule[] = [
  importDirections,
  acyclicImports,
  knownModules,
  packageOwners,
  ...wordingRules,
  fileNames,
  fileSizes,
  installScripts,
  packageScripts,
  markdownTitles,
  usedExports,
  securityTests,
  links,
  outsideDocuments,
  bannedWords,
  descriptiveNames,
  uniqueTypeNames,
  commentStarts,
  guidedTour,
  unitTests,
  focusedTests,
];

const findings = (rule: Rule, tree: Tree): string[] =>
  [...rule.check(tree)].map(({ path, line, message }) => `${path}:${line} ${message}`);

const REPOSITORY = readTree(fileURLToPath(new URL('..', import.meta.url)));

describe('the tree', () => {
  for (const rule of RULES) {
    test(rule.name, () => {
      const found = findings(rule, REPOSITORY);
      if (found.length > 0) assert.fail(found.join('\n'));
    });
  }
});

test('the glossary bans words', () => {
  const words = readBannedWords(REPOSITORY).map(({ insteadOf }) => insteadOf);
  for (const word of ['wish', 'told', 'goOn', 'Heard']) assert.ok(words.includes(word), word);
});

describe('the rules of the tree', () => {
  // Words that a rule searches for are concatenated here, or the rule would find them in this file.
  const cases: readonly { file: string; text: string; found: readonly string[]; besides?: Record<string, string> }[] = [
    { file: 'src/core/a.ts', text: `import { a } from '../lib/a.ts';`, found: [] },
    {
      file: 'src/lib/a.test.ts',
      text: `test('a', { only${''}: true }, run);`,
      found: ['src/lib/a.test.ts:1 runs only this test; remove `only`'],
    },
    {
      file: 'src/lib/a.test.ts',
      text: `test.${'only'}('a', run);`,
      found: ['src/lib/a.test.ts:1 runs only this test; remove `only`'],
    },
    {
      file: 'src/lib/a.ts',
      text: `import { b } from './b.ts';\nexport const parseA = b;`,
      besides: {
        'src/lib/b.ts': `import { c } from './c.ts';\nexport const b = c;`,
        'src/lib/c.ts': `import type { parseA } from './a.ts';\nexport const c = 1;`,
      },
      found: ['src/lib/a.ts:1 closes the import cycle src/lib/b.ts → src/lib/c.ts → src/lib/a.ts → src/lib/b.ts'],
    },
    {
      file: 'src/lib/a.ts',
      text: `import {\n  a,\n} from '../core/a.ts';`,
      found: ['src/lib/a.ts:3 lib must not see core above it (../core/a.ts)'],
    },
    {
      file: 'src/store/a.ts',
      text: `export { a } from '../blobs/a.ts';`,
      found: ['src/store/a.ts:1 store must not see its sibling blobs (../blobs/a.ts)'],
    },
    {
      file: 'src/generation/a.ts',
      text: `\nconst a = await import('../service.ts');`,
      found: ['src/generation/a.ts:2 generation must not see service above it (../service.ts)'],
    },
    {
      file: 'src/engines/a.ts',
      text: `import '../../test/a.ts';`,
      found: ['src/engines/a.ts:1 src imports nothing outside src (../../test/a.ts)'],
    },
    { file: 'src/engines/a.test.ts', text: `import { until } from '../../test/until.ts';`, found: [] },
    {
      file: 'src/engines/a.ts',
      text: `import { until } from '../../test/until.ts';`,
      found: ['src/engines/a.ts:1 src imports nothing outside src (../../test/until.ts)'],
    },
    { file: 'src/http/a.ts', text: `import type { Log } from '../core/telemetry.ts';`, found: [] },
    {
      file: 'src/http/a.ts',
      text: `import { createLog } from '../telemetry/log.ts';`,
      found: ['src/http/a.ts:1 http sees protocols, core, lib only, not telemetry (../telemetry/log.ts)'],
    },
    {
      file: 'src/http/a.ts',
      text: `import type { A } from '../generation/a.ts';`,
      found: ['src/http/a.ts:1 http sees protocols, core, lib only, not generation (../generation/a.ts)'],
    },
    { file: 'src/http/a.test.ts', text: `import type { A } from '../generation/a.ts';`, found: [] },
    {
      file: 'src/http/a.test.ts',
      text: `import { createService } from '../service.ts';`,
      found: ['src/http/a.test.ts:1 http must not see service above it (../service.ts)'],
    },
    {
      file: 'src/http/a.ts',
      text: `import type { Config } from '../config/config.ts';`,
      found: ['src/http/a.ts:1 http sees protocols, core, lib only, not config (../config/config.ts)'],
    },
    {
      file: 'src/generation/a.ts',
      text: `import type { Config } from '../config/config.ts';`,
      found: [
        'src/generation/a.ts:1 config is seen by service, commands, capabilities only, not by generation (../config/config.ts)',
      ],
    },
    { file: 'src/service.ts', text: `import type { Config } from './config/config.ts';`, found: [] },
    {
      file: 'src/protocols/native/a.ts',
      text: `import { a } from '../compatible/a.ts';\nimport { parse } from '../parse.ts';`,
      found: ['src/protocols/native/a.ts:1 protocols/native must not see protocols/compatible (../compatible/a.ts)'],
    },
    { file: 'src/protocols/native/a.ts', text: `import { a } from '../fields/a.ts';`, found: [] },
    {
      file: 'src/protocols/fields/a.ts',
      text: `import { a } from '../native/a.ts';`,
      found: ['src/protocols/fields/a.ts:1 protocols/fields must not see protocols/native (../native/a.ts)'],
    },
    {
      file: 'docs/security.md',
      text: '# Security\n\n| threat | test |\n| --- | --- |\n| a | `src/lib/a.test.ts`: never |\n| b | none |',
      besides: { 'src/lib/a.test.ts': '' },
      found: ["docs/security.md:5 src/lib/a.test.ts has no test 'never'", 'docs/security.md:6 names no test'],
    },
    { file: 'src/attic/a.ts', text: '', found: ['src/attic/a.ts:1 attic is not a module of the architecture'] },
    {
      file: 'src/core/a.ts',
      text: `import { z } from 'zod';\nimport left from '@pads/left/deep';\nimport { join } from 'node:path';`,
      found: [
        'src/core/a.ts:1 zod belongs to src/backup/, src/protocols/, src/config/, src/engines/remote/, src/engines/upstream/, src/engines/completion/, src/catalogue/, src/weights/, src/tools/search/, src/capabilities/',
        'src/core/a.ts:2 @pads/left has no owner in the table of owners',
      ],
    },
    {
      file: 'src/lib/a.ts',
      text: `import fc from 'fast-check';`,
      found: ['src/lib/a.ts:1 fast-check is for tests only'],
    },
    { file: 'src/lib/a.test.ts', text: `import fc from 'fast-check';`, found: [] },
    {
      file: 'src/http/a.ts',
      text: `console.log('hello');`,
      found: ['src/http/a.ts:1 writes to the console; use the log'],
    },
    { file: 'src/engines/llama/process.ts', text: `console.log('hello');`, found: [] },
    { file: 'docs/a.md', text: `# A\n${'TO'}DO later`, found: ['docs/a.md:2 names no issue'] },
    { file: 'src/lib/a.ts', text: `// ${'TO'}DO #12: later`, found: [] },
    {
      file: 'scripts/a.ts',
      text: `const path = '${'/wor'}k/a';`,
      found: ['scripts/a.ts:1 names a path that exists on one machine only'],
    },
    { file: 'src/lib/a.ts', text: `const path = 'net${'wor'}k/a' + engine${'.libr'}ary;`, found: [] },
    {
      file: 'docs/a.md',
      text: `# A\nfrom https://${'pyp'}i.org/simple`,
      found: ['docs/a.md:2 names a package registry'],
    },
    { file: 'src/config/schema.ts', text: `const index = 'https://${'pyp'}i.org/simple';`, found: [] },
    {
      file: 'src/lib/a.test.ts',
      text: `await new Promise((resolve) => set${'Timeout'}(resolve, 10));`,
      found: ['src/lib/a.test.ts:1 sleeps; wait for an event, inject a clock, or use test/until.ts'],
    },
    {
      file: 'src/lib/a.ts',
      text: [
        `${'/'}** ${'What'} comes of it. */`,
        `${'/'}** Returns what was sent. */`,
        `${'/'}**`,
        ` * ${'Who'} asks.`,
        ` * What follows is not the beginning.`,
        ' */',
        `const a = 1;`,
        `// ${'With'} care.`,
        '// With a second line.',
      ].join('\n'),
      found: [1, 4, 8].map((line) => `src/lib/a.ts:${line} begins with a fragment; name the subject`),
    },
    {
      file: 'src/lib/grumble/a.ts',
      text: 'export const within = () => 1;\nconst textOf = 1;\nconst at = text.indexOf();',
      besides: {
        'docs/glossary.md': '# Glossary\n\n| report | says | `grumble` |',
        'src/lib/b.ts': "import { within } from './grumble/a.ts';",
      },
      found: [
        'src/lib/grumble/a.ts:1 the path has the word grumble; say report',
        'src/lib/grumble/a.ts:1 within names no action; begin with a verb such as get or parse',
        'src/lib/grumble/a.ts:2 textOf names no action; begin with a verb such as get or parse',
      ],
    },
    {
      file: 'ARCHITECTURE.md',
      text: `# A\n${'a'.repeat(121)}`,
      found: ['ARCHITECTURE.md:2 has 121 characters; at most 120 are allowed'],
    },
    {
      file: 'src/lib/string-utils.ts',
      text: '',
      found: ['src/lib/string-utils.ts:1 string-utils.ts says nothing about what is in it'],
    },
    {
      file: 'src/core/helpers/a.ts',
      text: '',
      found: ['src/core/helpers/a.ts:1 helpers says nothing about what is in it'],
    },
    { file: 'src/config/data-folder.ts', text: '', found: [] },
    { file: 'docs/a.txt', text: 'a'.repeat(131_073), found: ['docs/a.txt:1 has 131073 bytes'] },
    { file: 'src/lib/__fixtures__/a.txt', text: 'a'.repeat(131_073), found: [] },
    {
      file: 'console/package.json',
      text: '{\n  "scripts": {\n    "dev": "node a.mjs",\n    "build": "exec node b.mjs"\n  }\n}',
      found: ['console/package.json:4 the script build is not node, npm, oxfmt or oxlint with plain arguments'],
    },
    {
      file: 'console/package-lock.json',
      text: ['a', 'b']
        .map((name) => `    "node_modules/${name}": {\n      "hasInstallScript": true\n    }`)
        .join(',\n'),
      besides: { 'console/package.json': '{\n  "allowScripts": {\n    "a": false\n  }\n}' },
      found: ['console/package-lock.json:5 b has an install script, which package.json does not deny'],
    },
    { file: 'docs/a.md', text: '# A\n```sh\n# a comment\n```\n## B', found: [] },
    { file: 'docs/a.md', text: '# A\n\n# B', found: ['docs/a.md:3 has 2 titles'] },
    { file: 'README.md', text: 'no title', found: ['README.md:1 has 0 titles'] },
    {
      file: 'src/lib/a.ts',
      text: 'export const lonely = 1;',
      found: ['src/lib/a.ts:1 lonely is used by no other file'],
    },
    {
      file: 'docs/a.md',
      text: '# A\n\n[b](b.md) [c](b.md#one-two) [d](b.md#three) [e](c.md) [f](#a) `[g](g.md)` `docs` `src/none.ts`',
      besides: { 'docs/b.md': '# B\n\n## One, two' },
      found: [
        'docs/a.md:3 links to docs/b.md#three, which does not exist',
        'docs/a.md:3 links to docs/c.md, which does not exist',
        'docs/a.md:3 links to src/none.ts, which does not exist',
      ],
    },
    {
      file: 'src/lib/a.ts',
      text: `/** Source: ${'docs'}/wire/x.md#chat. */\n// See ${'docs'}/wire/y.md.`,
      besides: { 'docs/wire/x.md': '# X\n\n## Chat' },
      found: ['src/lib/a.ts:2 links to docs/wire/y.md, which does not exist'],
    },
    {
      file: 'src/lib/a.ts',
      text: `/** ${'E'}9.3 says so. */\nconst text = '${'wire'}.md';`,
      found: ['src/lib/a.ts:1 cites E9.3; state the fact or link docs/wire'],
    },
    {
      file: 'src/lib/a.ts',
      text: [
        'const grumble = `grumble ${toGrumble(`x${ok}`)} grumble`; // grumble',
        'interface Snarled {}',
        "export type HasSnarled = 'grumble';",
        'const snarled = /grumble/;',
        'const stepAside = 1;',
      ].join('\n'),
      besides: {
        'docs/glossary.md':
          '# Glossary\n\n| term | meaning | instead of |\n| --- | --- | --- |\n| report | says | `grumble`, `Snarled`, `stepAside` |',
      },
      found: [
        'src/lib/a.ts:1 grumble has the word grumble; say report',
        'src/lib/a.ts:1 toGrumble has the word grumble; say report',
        'src/lib/a.ts:3 HasSnarled has the word Snarled; say report',
        'src/lib/a.ts:5 stepAside has the word stepAside; say report',
      ],
    },
    {
      file: 'src/store/a.ts',
      text: 'const grumble = row.grumble;',
      besides: {
        'docs/glossary.md': '# Glossary\n\n| report | says | `grumble` |\n\n| `grumble` | `src/store/` | a column |',
        'src/store/b.ts': '',
      },
      found: [],
    },
    {
      file: 'src/lib/b.ts',
      text: 'export interface Same {}',
      besides: { 'src/core/a.ts': 'export type Same = string;' },
      found: ['src/lib/b.ts:1 Same is also the name of a type in src/core/a.ts'],
    },
    { file: 'src/lib/a.integration.test.ts', text: `server.listen(0);`, found: [] },
    { file: 'src/lib/a.test.ts', text: `import type { ChildProcess } from 'node:child_process';`, found: [] },
    {
      file: 'src/lib/a.test.ts',
      text: `import { fork } from 'node:child_process';`,
      found: ['src/lib/a.test.ts:1 is named *.integration.test.ts, because of src/lib/a.test.ts:1'],
    },
    {
      file: 'src/lib/a.test.ts',
      text: `import { startServer } from './__fixtures__/start-server.ts';`,
      besides: { 'src/lib/__fixtures__/start-server.ts': `\nserver.listen(0);` },
      found: ['src/lib/a.test.ts:1 is named *.integration.test.ts, because of src/lib/__fixtures__/start-server.ts:2'],
    },
  ];

  for (const { file, text, found, besides } of cases) {
    const [line = ''] = text.slice(0, 60).split('\n');
    test(`${found.length === 0 ? 'accepts' : 'rejects'} ${file}: ${line}`, () => {
      const tree = makeTree({ ...besides, [file]: text });
      assert.deepEqual(
        RULES.flatMap((rule) => findings(rule, tree)),
        found,
      );
    });
  }

  test('each finds something in at least one case', () => {
    const silent = RULES.filter((rule) =>
      cases.every(({ file, text, besides }) => findings(rule, makeTree({ ...besides, [file]: text })).length === 0),
    );
    assert.deepEqual(
      silent.map(({ name }) => name),
      [],
    );
  });
});
