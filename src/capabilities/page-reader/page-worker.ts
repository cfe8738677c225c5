// Main file of the threads that read pages and evaluate robots rules (page-process.ts).
import robots from 'robots-parser';
import { serveWorker } from '../../lib/serve-worker.ts';
import { decodePage } from './decode-page.ts';
import { extractHtmlPage } from './extract-html-page.ts';
import { extractTextPage } from './extract-text-page.ts';
import type { PageTaskResult, PageTask } from './page-task.ts';

/** The types of the package describe a default export; the loaded module is the function itself. */
const robotsParser = robots as unknown as typeof robots.default;

serveWorker<PageTask, PageTaskResult>((task, reportStart) => {
  reportStart(0);
  switch (task.type) {
    case 'rules': {
      const rules = robotsParser(task.rulesUrl, task.rules);
      const delay = rules.getCrawlDelay(task.agent);
      const isAllowed = rules.isAllowed(task.url, task.agent) === true;
      return { type: 'decision', isAllowed, delaySeconds: Number.isFinite(delay) ? Number(delay) : 0 };
    }
    case 'page': {
      const { bytes, contentType, url, charsMax } = task;
      const text = decodePage(bytes, contentType);
      return {
        type: 'content',
        content:
          task.kind === 'html'
            ? extractHtmlPage(text, { url, charsMax })
            : extractTextPage(text, { kind: task.kind, charsMax }),
      };
    }
  }
});
