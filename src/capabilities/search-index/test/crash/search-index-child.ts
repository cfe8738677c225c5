// Child process of search-index.test.ts: adds a folder to the index and prints the number of added documents.
import { createDocumentExtractor } from '../../../../documents/document-extractor.ts';
import { createInlineExtractor } from '../../../../documents/inline-extractor.ts';
import { systemClock } from '../../../../lib/clock.ts';
import { createSearchIndexOperator } from '../../operator.ts';
import { createSqliteDialect } from '../../../../store/dialects/sqlite.ts';
import { openStore } from '../../../../store/store.ts';

const [, , file, folder] = process.argv;
if (file === undefined || folder === undefined) throw new Error('usage: search-index-child FILE FOLDER');
const store = await openStore({ dialect: createSqliteDialect({ file }) });
const extract = createInlineExtractor(createDocumentExtractor());
const operator = createSearchIndexOperator({ store, clock: systemClock, extract });
const { signal } = new AbortController();
const onProgress = ({ done }: { readonly done: number }): void => void process.stdout.write(`${done}\n`);
await operator.add({ sources: [folder] }, { signal, onProgress });
await store.close();
