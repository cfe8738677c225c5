// Main file of the thread in which pages and the rules of their sites are read (page-process.ts).
import robots from 'robots-parser';
import { serveWorker } from '../../lib/serve-worker.ts';
import { decodePage } from './decode-page.ts';
import { readMarkup } from './read-markup.ts';
import { readPlain } from './read-plain.ts';
import type { PageAnswer, PageTask } from './page-task.ts';

/** Its types describe a module with a default; what is loaded is the function itself. */
const robotsParser = robots as unknown as typeof robots.default;

serveWorker<PageTask, PageAnswer>((task, begin) => {
  begin(0);
  switch (task.type) {
    case 'rules': {
      const rules = robotsParser(task.rulesUrl, task.rules);
      const delay = rules.getCrawlDelay(task.agent);
      const isAllowed = rules.isAllowed(task.url, task.agent) === true;
      return { type: 'verdict', isAllowed, delaySeconds: Number.isFinite(delay) ? Number(delay) : 0 };
    }
    case 'page': {
      const { bytes, contentType, url, charsMax } = task;
      const text = decodePage(bytes, contentType);
      return {
        type: 'reading',
        reading:
          task.kind === 'html' ? readMarkup(text, { url, charsMax }) : readPlain(text, { kind: task.kind, charsMax }),
      };
    }
  }
});
