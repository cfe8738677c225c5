import type { RuntimePlatform } from './speech-runtime.ts';

/** The machine that this process runs on. */
export function thisPlatform(): RuntimePlatform {
  return { platform: process.platform, arch: process.arch, glibc: glibcVersion() };
}

/** What the process itself was linked with. */
function glibcVersion(): string | undefined {
  const report: unknown = process.platform === 'linux' ? process.report.getReport() : undefined;
  if (typeof report !== 'object' || report === null || !('header' in report)) return undefined;
  const { header } = report;
  if (typeof header !== 'object' || header === null || !('glibcVersionRuntime' in header)) return undefined;
  return typeof header.glibcVersionRuntime === 'string' ? header.glibcVersionRuntime : undefined;
}
