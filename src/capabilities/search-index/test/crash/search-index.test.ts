import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { INDEX_BATCH_DOCUMENTS_MAX } from '../../limits.ts';

const CHILD = fileURLToPath(new URL('search-index-child.ts', import.meta.url));

const DOCUMENTS = 120;
const KILLS = 6;

/** Creates a document with several passages. Every sentence contains a word that no other document or edition has. */
const createDocument = (at: number, edition: number): string =>
  `# Document ${at}\n\n${`It says word${at}edition${edition} and a good deal more of it. `.repeat(80)}`;

describe('local index of processes that are killed', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-crash-index-'));
    await mkdir(join(folder, 'docs'));
  });
  after(() => rm(folder, { recursive: true }));

  const writeDocuments = async (edition: number) => {
    for (let at = 0; at < DOCUMENTS; at++)
      await writeFile(join(folder, 'docs', `${at}.md`), createDocument(at, edition));
  };

  /** @param killAfter number of documents after which the child is killed; undefined lets it finish. */
  async function addDocuments(killAfter?: number): Promise<void> {
    const file = join(folder, 'parley.db');
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', CHILD, file, join(folder, 'docs')],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const exit = once(child, 'exit');
    for await (const line of createInterface({ input: child.stdout })) {
      if (killAfter !== undefined && Number(line) >= killAfter) child.kill('SIGKILL');
    }
    const [code] = await exit;
    if (killAfter === undefined) assert.equal(code, 0);
  }

  /** Counts rows that a partly written document would leave behind, and checks the full-text index. */
  function checkIndex(): unknown {
    const database = new DatabaseSync(join(folder, 'parley.db'));
    const count = (sql: string): unknown => Object.values(Object(database.prepare(sql).get()))[0];
    const found = {
      wholeDocuments: count(
        `select count(*) from index_documents d where passages = (select count(*) from index_passages p
         where p.document = d.id and p.id between d.first_passage and d.first_passage + d.passages - 1)`,
      ),
      documents: count('select count(*) from index_documents'),
      straysOfPassages: count(
        'select count(*) from index_passages where document not in (select id from index_documents)',
      ),
      passagesWithoutTerms: count(
        'select count(*) from index_passages where id not in (select rowid from index_terms)',
      ),
      termsWithoutPassages: count(
        'select count(*) from index_terms where rowid not in (select id from index_passages)',
      ),
    };
    database.prepare("insert into index_terms (index_terms) values ('integrity-check')").run();
    database.close();
    return found;
  }

  it('has only whole documents after each SIGKILL, and all documents after an uninterrupted run', async () => {
    for (let edition = 1; edition <= KILLS; edition++) {
      await writeDocuments(edition);
      await addDocuments(INDEX_BATCH_DOCUMENTS_MAX + edition * 15);
      const { documents, ...found } = checkIndex() as { documents: number; wholeDocuments: number };
      assert.ok(documents > 0);
      const clean = { straysOfPassages: 0, passagesWithoutTerms: 0, termsWithoutPassages: 0 };
      assert.deepEqual(found, { wholeDocuments: documents, ...clean });
    }
    await addDocuments();
    const database = new DatabaseSync(join(folder, 'parley.db'));
    for (let at = 0; at < DOCUMENTS; at++) {
      const rows = database
        .prepare('select count(*) as count from index_terms where index_terms match ?')
        .get(`"word${at}edition${KILLS}"`);
      assert.ok(Number(Object(rows).count) > 0, `document ${at}`);
    }
    const old = database.prepare('select count(*) as count from index_passages where text like ?').get('%edition1 %');
    assert.equal(Object(old).count, 0);
    database.close();
  });
});
