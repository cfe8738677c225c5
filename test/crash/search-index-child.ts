// A process of its own for search-index.test.ts: adds a folder to the index, says each document, and is killed meanwhile.
import { createExtract } from '../../src/documents/extract.ts';
import { createQuickExtract } from '../../src/documents/extract-quickly.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createSearchIndexOperator } from '../../src/resources/search-index/operator.ts';
import { sqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';

const [, , file, folder] = process.argv;
if (file === undefined || folder === undefined) throw new Error('usage: search-index-child FILE FOLDER');
const store = await openStore({ dialect: sqliteDialect({ file }) });
const extract = createQuickExtract(createExtract());
const operator = createSearchIndexOperator({ store, clock: systemClock, extract });
const { signal } = new AbortController();
const onProgress = ({ done }: { readonly done: number }): void => void process.stdout.write(`${done}\n`);
await operator.add({ sources: [folder] }, { signal, onProgress });
await store.close();
