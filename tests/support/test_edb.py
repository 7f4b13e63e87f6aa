"""The builder of databases must itself be right: judged by the slow, obvious checksum."""

from pathlib import Path

import pytest

from esefiles.pages.checksum import diagnose
from esefiles.pages.layout import PAGE_SIZES
from tests.support.edb import Form, page, trailer_page, write_edb
from tests.support.obvious_checksum import old_checksum, verifies, words

FORMS: tuple[Form, ...] = ("new", "empty", "old")


@pytest.mark.parametrize("page_size", PAGE_SIZES)
@pytest.mark.parametrize("form", FORMS)
def test_pages_of_every_form_and_number_verify(page_size: int, form: Form) -> None:
    if form == "old" and page_size > 8192:
        with pytest.raises(ValueError, match="large"):
            page(page_size, 1, form)
        return
    numbers = (1, 14, 0x7FFFFFFD)
    for number in numbers:
        made = page(page_size, number, form)
        assert len(made) == page_size
        assert verifies(made, number)
        assert not verifies(made, number + 1)
        assert bool(made[36] & 0x8) == (form == "empty")


def test_the_same_arguments_give_the_same_bytes_and_others_do_not(tmp_path: Path) -> None:
    first, again, other = (
        write_edb(tmp_path / name, page_size=8192, seed=seed).path.read_bytes()
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert first == again
    assert first[2 * 8192 :] != other[2 * 8192 :]


def test_a_file_is_header_shadow_pages_and_trailer(tmp_path: Path) -> None:
    edb = write_edb(
        tmp_path / "a.edb", page_size=4096, pages=300, forms={7: "blank", 8: "old"}, trailer=True
    )
    assert edb.path.stat().st_size == (2 + 300 + 1) * 4096
    assert edb.read(-1) == edb.read(0)
    assert words(edb.read(-1))[0] == old_checksum(edb.read(-1))
    assert not any(edb.read(7))
    assert edb.read(8) == page(4096, 8, "old")
    assert edb.read(300) == page(4096, 300)
    assert edb.read(301) == trailer_page(4096)
    assert diagnose(edb.read(301), 301, last=True).trailer


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_each_way_of_going_bad_is_what_it_says(tmp_path: Path, page_size: int) -> None:
    edb = write_edb(tmp_path / "a.edb", page_size=page_size, pages=9)
    edb.flip(1, 4000)
    edb.flip(2, 4000, 4001)
    edb.misplace(3, 8)
    edb.tear(4)
    edb.zero(5)
    found = [diagnose(edb.read(number), number) for number in (1, 2, 3, 4)]
    assert [each.fault for each in found] == ["correctable", "checksum", "wrong_page", "checksum"]
    assert found[0].bits == (4000,)
    assert found[2].written_as == 8
    assert not any(edb.read(5))
    assert diagnose(edb.read(6), 6).fault is None
    edb.cut(5 * page_size + 1)
    assert len(edb.read(4)) == 1
