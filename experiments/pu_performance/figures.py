def draw_all(out):
    pass


def fill_readme(out, v):
    pass
