import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createDocumentExtractor } from '../../../../documents/document-extractor.ts';
import { createInlineExtractor } from '../../../../documents/inline-extractor.ts';
import { systemClock } from '../../../../lib/clock.ts';
import { createSearchIndexOperator } from '../../operator.ts';
import { createSearchIndex, type SearchIndex } from '../../search.ts';
import { openStore, type Store } from '../../../../store/store.ts';
import { type Corpus, createCorpus } from '../../../../../test/corpus.ts';
import { DIALECTS } from '../../../../../test/contracts/__fixtures__/dialects.ts';

/** Questions without the name of a package, and the packages that answer them. */
const QUESTIONS: readonly [string, RegExp][] = [
  ['How do I color text in the terminal?', /^(chalk|yoctocolors|ansi-styles)\//],
  ['Which library parses YAML documents and keeps comments?', /^yaml\//],
  ['websocket client and server for node', /^ws\//],
  ['type safe SQL query builder', /^kysely\//],
  ['parse command line options and subcommands', /^(commander|yargs|minimist|yargs-parser)\//],
  ['convert bytes to a human readable string like 1.34 kB', /^(pretty-bytes|bytes)\//],
  ['convert milliseconds to a human readable string', /^(pretty-ms|ms|parse-ms)\//],
  ['generate small unique ids that are url friendly', /^nanoid\//],
  ['validate data against a JSON schema', /^ajv\//],
  ['Who extracts the readable article out of a web page?', /^@mozilla\/readability\//],
  ['is this url allowed by robots.txt', /^robots-parser\//],
  ['elegant terminal spinner', /^(ora|cli-spinners)\//],
  ['compare version numbers and check ranges', /^semver\//],
  ['extract text from a PDF', /^unpdf\//],
  ['metrics histogram and gauge for prometheus', /^prom-client\//],
  ['retry an operation with exponential backoff', /^(retry|async-retry)\//],
  ['decode MP3 audio', /^mpg123-decoder\//],
  ['run git commands from javascript', /^simple-git\//],
  ['parse an IPv6 address and match a subnet', /^ipaddr\.js\//],
  ['strip ANSI escape codes from a string', /^(strip-ansi|ansi-regex|slice-ansi)\//],
  ['property based testing', /^fast-check\//],
  ['create and extract tarballs', /^tar\//],
  ['lock a file across processes', /^proper-lockfile\//],
  ['read ini files', /^ini\//],
  ['filter paths by gitignore rules', /^ignore\//],
  ['inject a fake HTTP request into a server for tests', /^(light-my-request\/|fastify\/docs\/Guides\/Testing)/],
  ['run Python in the browser with WebAssembly', /^pyodide\//],
  ['detect whether the code runs on a CI server', /^ci-info\//],
  ['how are log lines redacted of secrets', /^(pino\/|@pinojs\/redact\/)/],
  ['detect the language of a text', /^eld\//],
];

/** Questions that no document answers. */
const UNRELATED_QUESTIONS = [
  'sourdough bread hydration percentage',
  'Napoleon retreat from Moscow winter',
  '量子力学的测量问题',
];

for (const { name, dialect } of DIALECTS.slice(1)) {
  describe(`local index of 200 real documents on ${name}`, () => {
    let folder = '';
    let store: Store;
    let corpus: Corpus;
    let searchIndex: SearchIndex;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'parley-recall-'));
      corpus = await createCorpus(join(folder, 'packages'));
      store = await openStore({ dialect: dialect(folder) });
      const extract = createInlineExtractor(createDocumentExtractor());
      const operator = createSearchIndexOperator({ store, clock: systemClock, extract });
      const { signal } = new AbortController();
      const { report } = await operator.add({ sources: [join(folder, 'packages')] }, { signal });
      assert.deepEqual(
        report.problems.filter(({ reason }) => reason !== 'The document has no words.'),
        [],
      );
      assert.equal(report.added + report.failed, corpus.documents.length);
      searchIndex = createSearchIndex({ store, clock: systemClock, log: { warn: () => undefined } });
    });
    after(async () => {
      await store.close();
      await rm(folder, { recursive: true });
    });

    const search = async (text: string, resultsMax = 3) => {
      const query = {
        text,
        tenant: { region: 'cn-beijing', workspace: 'primary' },
        breadth: 'first',
        resultsMax,
        usesDomainProviders: false,
      } as const;
      const { results } = await searchIndex(query, new AbortController().signal);
      return results;
    };

    it('has at least 200 documents', () => assert.ok(corpus.documents.length >= 200, `${corpus.documents.length}`));

    it('finds the answers to 90 % of the questions among the first three results', async () => {
      const missed: string[] = [];
      for (const [question, expected] of QUESTIONS) {
        const paths = (await search(question)).map(({ url }) =>
          decodeURIComponent(url.slice('parley-index:packages/'.length)),
        );
        if (!paths.some((path) => expected.test(path))) missed.push(`${question} -> ${paths.join(', ')}`);
      }
      const recall = 1 - missed.length / QUESTIONS.length;
      assert.ok(recall >= 0.9, `${recall.toFixed(2)}: ${missed.join('\n')}`);
    });

    it('returns nothing for unrelated questions', async () => {
      for (const question of UNRELATED_QUESTIONS)
        assert.deepEqual(
          (await search(question)).map(({ url }) => url),
          [],
          question,
        );
    });
  });
}
