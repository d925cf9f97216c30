"""Objects of every kind with attributes drawn from their declarations."""

from hypothesis import strategies as st

from quaestor.mqi.objects import OBJECT_TYPES, StorageClass, attributes_of

NAMES = st.text("ABCXYZ019./_%", min_size=1, max_size=48)
STORAGE_CLASSES = st.from_regex(r"[A-Z][A-Z0-9]{0,7}", fullmatch=True)
TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=0x17F, blacklist_characters="\x7f\x85"), max_size=8)


def values(attribute):
    """What an attribute may hold."""
    if attribute.words is not None:
        return st.sampled_from(list(attribute.words.values()))
    if isinstance(attribute.default, tuple):
        return st.lists(NAMES, min_size=1, max_size=5).map(tuple)
    if attribute.names_object:
        return NAMES | st.just("")
    if attribute.length:
        return TEXTS.filter(lambda text: len(text.encode()) <= attribute.length)
    return st.integers(attribute.low, attribute.high)


@st.composite
def objects(draw):
    kind = draw(st.sampled_from(list(OBJECT_TYPES.values())))
    attributes = attributes_of(kind)
    chosen = draw(st.lists(st.sampled_from(list(attributes)), max_size=6, unique=True))
    name = draw(STORAGE_CLASSES if kind is StorageClass else NAMES)
    return kind(name, **{field: draw(values(attributes[field])) for field in chosen})
