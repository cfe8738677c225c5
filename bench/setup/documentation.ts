import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readHtml } from '../../src/documents/formats/html.ts';
import { createTextLayout } from '../../src/documents/text-layout.ts';
import { createTextSink } from '../../src/documents/text-sink.ts';
import { openDebianPackage } from './debian-package.ts';

/** Debian packages with HTML documentation, each pinned. `pages` are the files that are read. */
const PACKAGES = {
  postgresql: {
    package: 'postgresql-doc-15=15.20-0+deb12u1',
    sha256: '4c44bf2c599f208b3f46454a6cf7a72e25ec46ff74d37b59dd31ad76b00eebb7',
    pages: 'usr/share/doc/postgresql-doc-15/html/*.html',
  },
  python: {
    package: 'python3.11-doc=3.11.2-6+deb12u9',
    sha256: '5b3594189d6ef9a6963ce0347fd307a1cc67620ad697e144db366070e2e146be',
    pages: 'usr/share/doc/python3.11/html/{library,reference,howto,tutorial}/*.html',
  },
  sqlite: {
    package: 'sqlite3-doc=3.40.1-2+deb12u2',
    sha256: '466e30d7066e2641fa13e56bc662a2ad521b8cc9c17dde9c9dac3d4f105e32f2',
    pages: 'usr/share/doc/sqlite3/*.html',
  },
  git: {
    package: 'git-doc=1:2.39.5-0+deb12u3',
    sha256: '3c89668a11053a6bafade3de1f611f4613db31e082af63f43d8c5b69ad8795ec',
    pages: 'usr/share/doc/git/html/*.html',
  },
  apache: {
    package: 'apache2-doc=2.4.71-1~deb12u1',
    sha256: 'a7b3d1131c1c63dbf9999b28e75f9a133d30f70492b419936bd51759ac77a01f',
    // Index pages of several folders have the same name.
    pages: 'usr/share/doc/apache2-doc/manual/en/{mod,howto,ssl,vhosts,rewrite}/{[!i],i[!n],in[!d]}*.html',
  },
  postfix: {
    package: 'postfix-doc=3.7.11-0+deb12u1',
    sha256: '6b07bcc68991703acf747dc2500355bdd02aef0a048419b939752c39faf47d8d',
    pages: 'usr/share/doc/postfix/html/*.html',
  },
} as const;

export type DocumentationName = keyof typeof PACKAGES;

export interface DocumentationPage {
  /** Name of the file without its ending, such as `mvcc-intro`. */
  readonly name: string;
  readonly title: string;
  readonly text: string;
}

const TEXT_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Reads the pages of a documentation package in the order of their names.
 * @throws Error as `openDebianPackage`.
 */
export async function readDocumentation(name: DocumentationName): Promise<readonly DocumentationPage[]> {
  const { pages, ...debianPackage } = PACKAGES[name];
  const folder = await openDebianPackage(`documentation-${name}`, debianPackage);
  return globSync(pages, { cwd: folder })
    .toSorted()
    .map((file) => readPage(join(folder, file)));
}

function readPage(file: string): DocumentationPage {
  const bytes = readFileSync(file);
  const sink = createTextSink({ bytesMax: TEXT_BYTES_MAX });
  readHtml(bytes, createTextLayout(sink));
  const text = new TextDecoder().decode(sink.finish().text);
  const [, title = ''] = /<title[^>]*>([^<]*)</i.exec(bytes.toString('utf8')) ?? [];
  return { name: basename(file, '.html'), title: title.replaceAll(/\s+/g, ' ').trim(), text };
}
