# SPDX-License-Identifier: Apache-2.0
"""The functions in the feature table are exported. The maintainers' table names their tests, which exist and call them.
Links in pages lead to files and headings, and the
pages that anything names exist."""
import pathlib
import re

root = pathlib.Path(__file__).resolve().parents[2]
exported = set(re.findall(r'^\s+(mdist_\w+);', (root / 'lib/mdist.map').read_text(), re.M))
wrong = []


def source_of(name):
    folder = root / 'tests' / 'api' if '/' not in name else root / pathlib.Path(name).parent
    stem = pathlib.Path(name).name
    found = [path for path in (folder / (stem + end) for end in ('.c', '.cpp', '.py')) if path.is_file()]
    if not found:
        wrong.append(f'test {name} does not exist')
        return ''
    # Headers that a test includes from its own folder or from tests/support belong to it. So do its other source files.
    text = found[0].read_text()
    parts = folder.glob(stem.removesuffix('_test') + '_*.c*')
    text += ''.join(part.read_text() for part in parts if not part.stem.endswith('_test'))
    for header in re.findall(r'#include "(\w+\.h)"', text):
        for place in (folder, root / 'tests/support'):
            if (place / header).is_file():
                text += (place / header).read_text()
    return text


def rows_of(page):
    """{(heading, first cell without links): the other cells} of all tables of a page."""
    rows, heading = {}, ''
    for line in (root / page).read_text().splitlines():
        heading = line.lstrip('#') if line.startswith('#') else heading
        if line.startswith('|') and not line.startswith('|-'):
            first, *others = [cell.strip() for cell in line.strip('|').split('|')]
            rows[heading, re.sub(r'\([^()]*\.md[^()]*\)', '', first)] = others
    return rows


features, tested = rows_of('docs/reference/features.md'), rows_of('docs/maintainers/features.md')
wrong += [f'features.md of maintainers has a row that the reference lacks: {row}' for row in sorted(set(tested) - set(features))]
for row, cells in features.items():
    functions = [name for name in re.findall(r'`(mdist_\w+)`', f'{row} {cells}') if not name.endswith('_t')]
    wrong += [f'{name} is not exported: {row}' for name in functions if name not in exported]
    if row not in tested:
        wrong += [f'features.md of maintainers names no test for {row}'] if functions else []
        continue
    tests = re.findall(r'`((?:tests/\w+/)?\w+_test)`', tested[row][0])
    text = ''.join(source_of(test) for test in tests)
    if tests and not any(test.startswith('tests/unit') for test in tests):
        wrong += [f'{name} is not in {tests}' for name in functions if name not in text]

failures = rows_of('docs/reference/failures.md')
for row, cells in rows_of('docs/maintainers/failures.md').items():
    tests = re.findall(r'`(\w+)/(\w+_test)`', cells[-1])
    wrong += [f'test {folder}/{name} does not exist' for folder, name in tests
              if not any((root / 'tests' / folder / (name + end)).is_file() for end in ('.c', '.cpp', '.py'))]
    if tests and row not in failures and row[0] != ' Waits, messages and more cases':
        wrong.append(f'failures.md of maintainers has a row that the reference lacks: {row}')

words = set()
for source in (root / 'lib').rglob('*.cpp'):
    words |= set(re.findall(r'(?:reason\(|unsupported\(|fail\("[^"]*", )"([a-z_]+)"', source.read_text()))
listed = (root / 'docs/reference/reasons.md').read_text()
wrong += [f'docs/reference/reasons.md does not list the reason {word}' for word in sorted(words) if f'`{word}`' not in listed]


def prose_of(page):
    """Without blocks and spans of code, where brackets and # mean something else."""
    text = re.sub(r'^```.*?^```$', '', page.read_text(), flags=re.M | re.S)
    return re.sub(r'`([^`\n]*)`', lambda code: re.sub(r'[\[\]()]', '', code[1]), text)


def anchors_of(page):
    """What headings are called in links: words in lower case, joined by -."""
    found = set()
    for heading in re.findall(r'^#+ (.*)$', prose_of(page), re.M):
        plain = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', heading).strip().lower()
        name = re.sub(r'[^\w -]', '', plain).replace(' ', '-')
        found.add(next(one for one in (name, *(f'{name}-{count}' for count in range(1, 99))) if one not in found))
    return found


pages = [page for folder in ('docs', 'examples', 'lib', 'src', 'tests') for page in (root / folder).rglob('*.md')]
for page in [*root.glob('*.md'), *pages]:
    for target, anchor in re.findall(r'\]\(([^)#:]*)(?:#([^):]*))?\)', prose_of(page)):
        place = page.parent / target if target else page
        if not place.exists():
            wrong.append(f'{page.relative_to(root)} links to {target}, which does not exist')
        elif anchor and anchor not in anchors_of(place):
            wrong.append(f'{page.relative_to(root)} links to {target}#{anchor}, but there is no such heading')

for folder in ('.ci', 'docs', 'examples', 'include', 'lib', 'src', 'tests'):
    for path in (root / folder).rglob('*'):
        if path.is_file() and not path.is_relative_to(root / 'tests/abi/kept') and path.stat().st_size < 1 << 20:
            named = set(re.findall(r'(?<![\w/.-])docs/[\w/-]+\.md\b', path.read_bytes().decode(errors='ignore')))
            wrong += [f'{path.relative_to(root)} names {page}, which does not exist' for page in sorted(named)
                      if not (root / page).is_file()]

print('\n'.join(wrong))
raise SystemExit(1 if wrong else 0)
