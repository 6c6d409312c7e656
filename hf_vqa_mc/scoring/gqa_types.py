"""The types of GQA's questions, by the names that the published files give them (Hudson and Manning 2019, Table 3)."""

QUERY, VERIFY, CHOOSE, LOGICAL, COMPARE = "query", "verify", "choose", "logical", "compare"
STRUCTURAL_TYPES = (QUERY, VERIFY, LOGICAL, CHOOSE, COMPARE)
OBJECT, ATTRIBUTE, CATEGORY, RELATION, GLOBAL = "obj", "attr", "cat", "rel", "global"
SEMANTIC_TYPES = (OBJECT, ATTRIBUTE, CATEGORY, RELATION, GLOBAL)
